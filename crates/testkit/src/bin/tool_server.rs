//! The small MCP server of tests, as a program of its own.

fn main() -> Result<(), bonded_testkit::tool_server::Fault> {
    bonded_testkit::tool_server::serve()
}
