//! One good file of each kind that says everything it can, to be changed in every place.

use serde_json::{Value, json};

pub(crate) fn plans() -> Vec<Value> {
    let item = json!({
        "$schema": "./plan.schema.json",
        "id": "parser", "agent_id": "agent-1", "description": "Make it so.\nAll of it.",
        "constraints": { "max_files": 1, "max_tool_ops": 0, "max_delta_size": 3, "timeout_ms": 1 },
        "budget": { "time_estimate_ms": 0, "complexity": "low" },
        "input_files": ["src/", "*.rs", "/docs/a.md"], "output_files": ["./made.txt"],
        "test_command": "cargo test", "tests_expected": 3, "retries": 10,
    });
    let second = json!({
        "id": "docs", "agent_id": "agent-9", "description": "x", "dependencies": ["parser"],
    });
    let in_units = json!({
        "id": "slow", "agent_id": "agent-2", "description": "x", "constraints": { "timeout_ms": "1h30m" },
        "budget": { "time_estimate_ms": "10m", "complexity": "high" },
    });
    vec![item.clone(), json!([item, second]), in_units]
}

pub(crate) fn rules() -> Vec<Value> {
    let condition = json!({ "all": [
        { "any": [{ "field": "note.keywords", "op": "contains", "value": "inbox" }] },
        { "not": { "field": "note.version", "op": "ge", "value": 3 } },
        { "field": "note.id", "op": "in", "value": ["6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11"] },
        { "field": "note.title", "op": "matches", "value": "^a" },
        { "field": "note.metadata.due", "op": "exists" },
        { "note.kind": "note", "note.metadata.done": false, "note.keywords": ["a"] },
    ] });
    let looping = json!({
        "kind": "kjxlkj_agent", "prompt_path": "prompts/a.json", "mode": "reviewed",
        "provider": { "provider_kind": "lmstudio", "base_url": "http://10.0.0.7/v1", "model": "m",
            "timeout_ms": 1, "max_tokens": 1, "temperature": 0.5 },
        "memory": { "kv_store_path": "inbox.json", "retain_full_conversation_logs": true, "type": "kv_store",
            "carry_over": true },
        "loop": { "loop_delay_ms": 0, "idle_delay_ms": 1, "max_iterations": 1 },
        "scope": { "workspace_id": "6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11", "allowed_note_kinds": ["note"],
            "cross_workspace_writes": false, "max_notes_per_loop": 0, "max_edits_per_loop": 1,
            "strict_scope": true },
        "strict_mode": true, "paging_bytes": 256, "request": "File it.",
    });
    vec![
        json!({
            "$schema": "./rule.schema.json", "workspace_id": "6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11",
            "name": "a rule", "trigger": "workspace_event.note_changed", "condition_json": condition,
            "action_json": looping, "enabled": true, "max_chain_depth": 3,
        }),
        json!({
            "trigger": "automation_schedule.cron",
            "schedule": { "cron": "30 9 * * 1-5", "timezone": "Europe/Berlin", "catch_up": "once", "overlap": "skip" },
            "action_json": { "kind": "run", "agent_file": "a.ai", "goal": "Do it.", "dir": "x", "timeout_ms": 1 },
        }),
        json!({
            "trigger": "manual",
            "action_json": { "kind": "work", "plan": "p.yaml", "repo": "tree", "agent_file": "a.ai" },
        }),
        json!({ "trigger": "manual", "action_json": { "kind": "kjxlkj_agent", "provider": "lmstudio" } }),
        json!({
            "trigger": "manual",
            "action_json": { "kind": "kjxlkj_agent", "provider": { "timeout_ms": "90s", "max_tokens": "8k" },
                "loop": { "loop_delay_ms": "1.5s", "idle_delay_ms": "1m" } },
        }),
        json!({
            "trigger": "manual",
            "action_json": { "kind": "run", "agent_file": "a.ai", "goal": "Do it.", "timeout_ms": "10m" },
        }),
    ]
}

pub(crate) fn agents() -> Vec<Value> {
    vec![
        json!({
            "$schema": "./agent.schema.json", "description": "d", "usage": "u", "toolName": "review",
            "projectInstructions": true,
            "input": { "format": "json", "schema": { "type": "object" } },
            "output": { "format": "markdown" },
            "models": ["openai/gpt-5-mini", "script:a.jsonl"], "tools": ["read", "list"], "agents": "a.ai, b.ai",
            "skills": ["pdf"],
            "llmTimeout": 1000, "toolTimeout": "1000", "toolResponseMaxBytes": 1, "temperature": 0.5, "topP": "none",
            "topK": 3, "repeatPenalty": 1.5, "reasoning": "high", "reasoningTokens": 0, "maxOutputTokens": 1,
            "maxRetries": 0, "maxTurns": 12, "maxToolCallsPerTurn": 1, "toolOutputPaging": "yes", "toolSearchAbove": "none",
            "contextSummary": true, "progressReports": false,
            "approvals": { "deny": ["rm_*"], "ask": "run" }, "untrusted": "fetch_*", "afterUntrusted": "ask",
            "readOnly": true,
            "openaiMode": "chat", "caching": "none",
        }),
        json!({ "approvals": ["deny:rm_*", "ask:*"], "models": "a/b,c/d/e", "untrusted": ["a"] }),
        json!({
            "llmTimeout": "10m", "toolTimeout": "90s", "toolResponseMaxBytes": "12k", "reasoningTokens": "2k",
            "maxOutputTokens": "16k",
        }),
    ]
}

pub(crate) fn configs() -> Vec<Value> {
    let accepts = json!({
        "like": "gpt-5", "temperatureMax": 1, "temperature": true, "topP": true, "topK": true,
        "temperatureWithTopP": true, "penalty": "none", "outputLimit": "max_tokens", "thinking": "effort",
        "efforts": ["low", "high"], "toolChoiceRequired": true, "systemRole": "system", "alternates": true,
        "userAfterTool": true, "thoughtReturn": "none", "signedThoughts": "kept", "callsNeedTools": true,
        "callIds": "short", "streamUsage": true, "parallelToolCalls": true, "promptCacheKey": true,
        "serviceTier": true, "images": true,
    });
    vec![
        json!({
            "$schema": "./config.schema.json",
            "providers": {
                "openai": { "type": "openai", "apiKey": "k", "baseUrl": "https://x/v1", "headers": { "a": "b" },
                    "custom": { "top": 1 }, "openaiMode": "chat", "overrides": { "temperature": 1, "top_p": null },
                    "reasoning": [1, "x", null, 2], "toolChoice": "auto", "contextWindow": 1, "tokenizer": "qwen",
                    "contextWindowBufferTokens": 0, "parallelToolCalls": true, "promptCacheKey": "k",
                    "serviceTier": "t", "accepts": accepts, "apiVersion": "1",
                    "models": { "m": { "overrides": { "topK": 1 }, "toolChoice": "required" } } },
            },
            "queues": { "slow": { "concurrent": 2 } },
            "pricing": { "openai": { "m": { "unit": "per_1k", "currency": "USD", "prompt": 0.25, "completion": 2,
                "cacheRead": 0, "cacheWrite": 1, "above": { "tokens": 1, "prompt": 1 } } } },
            "persistence": { "sessionsDir": "s", "billingFile": "b" },
            "tooling": { "transport": "xml" },
        }),
        json!({
            "mcpServers": {
                "git": { "type": "stdio", "command": ["git", "x"], "args": ["a"], "environment": { "A": "b" },
                    "secretEnv": { "T": "t" }, "enabled": true, "toolsAllowed": ["a"], "toolsDenied": ["b"],
                    "queue": "default", "shared": true, "healthProbe": "ping", "requestTimeoutMs": 1,
                    "required": true, "cwd": "/", "sandbox": "read-only", "sandboxNetwork": true },
                "web": { "url": "https://x/mcp", "headers": { "a": "b" }, "secretHeaders": { "c": "d" },
                    "oauth": { "grant": "authorization_code", "clientId": "i", "scopes": "a b",
                        "issuer": "https://y", "redirectPort": 8123, "privateAddresses": true } },
            },
            "restTools": { "weather": { "description": "d", "method": "GET", "url": "https://x/now",
                "headers": { "a": "b" }, "parametersSchema": { "city": { "type": "string" } },
                "queue": "default", "redirects": "none", "privateAddresses": true,
                "streaming": { "mode": "json-stream", "linePrefix": "p", "timeoutMs": 1, "maxBytes": 1 } } },
            "openapiSpecs": { "shop": { "spec": "shop.json", "baseUrl": "https://shop.example.org/v1",
                "includeMethods": ["GET"], "tagFilter": ["orders"], "redirects": "same-origin" } },
        }),
        json!({
            "defaults": {
                "skills": "all", "llmTimeout": 1, "toolTimeout": 1, "toolResponseMaxBytes": 1, "temperature": 0.5, "topP": 1, "topK": 1,
                "repeatPenalty": 1, "reasoning": "${KEY}", "reasoningValue": 0, "maxOutputTokens": 1, "maxRetries": 1,
                "maxTurns": "20", "maxToolCallsPerTurn": 1, "toolOutputPaging": true, "toolSearchAbove": 1000, "contextSummary": false,
                "progressReports": "on", "approvals": ["ask:*"], "untrusted": ["a"], "afterUntrusted": "Deny",
                "readOnly": true,
                "openaiMode": "auto", "stream": true, "contextWindowBufferTokens": 0, "sandbox": "full",
                "sandboxRequired": true, "sandboxBestEffort": false, "sandboxNetwork": true, "sandboxEnv": ["A"],
                "sandboxShow": "a,b", "sandboxCpuMs": 1, "sandboxMemoryBytes": 16777216, "sandboxProcesses": 4,
                "sandboxFileBytes": 4096, "outputFormat": "ansi",
            },
            "accounting": { "file": "a" },
        }),
        json!({
            "providers": { "openai": { "contextWindow": "200k", "contextWindowBufferTokens": "8k",
                "models": { "m": { "contextWindow": "1M", "contextWindowBufferTokens": "16k" } } } },
            "pricing": { "openai": { "m": { "above": { "tokens": "200k", "prompt": 1 } } } },
            "mcpServers": { "git": { "command": "git", "requestTimeoutMs": "90s" } },
            "restTools": { "weather": { "description": "d", "url": "https://x/now",
                "parametersSchema": { "city": { "type": "string" } },
                "streaming": { "mode": "json-stream", "timeoutMs": "1m", "maxBytes": "64k" } } },
            "defaults": {
                "llmTimeout": "10m", "toolTimeout": "90s", "toolResponseMaxBytes": "12k", "reasoningValue": "2k",
                "maxOutputTokens": "16k", "contextWindowBufferTokens": "8k", "sandboxCpuMs": "1m",
                "sandboxMemoryBytes": "1G", "sandboxFileBytes": "4k",
            },
        }),
    ]
}
