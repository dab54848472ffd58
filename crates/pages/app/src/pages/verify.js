// Receipts, checked in this browser from the files alone: nothing is sent anywhere.
import { cls, html } from '../html.js';
import { useRef, useState } from '../../vendor/hooks.js';
import { useCss, useTitle } from '../hooks.js';
import { say } from '../state.js';
import { aside } from '../aside.js';
import { chainChecks, levelItemChecks, verifyReceipt } from '../lib/receipt.js';
import { useKeys } from '../components/keys.js';
import { Checks } from '../components/checks.js';
import { Badge, Icon } from '../components/icon.js';
import { JsonView } from '../components/json.js';
import { safe } from '../components/untrusted.js';
import { counted } from '../lib/numbers.js';
import { dateAndClock } from '../lib/time.js';

/** @typedef {import('../lib/receipt.js').Verdict} Verdict */

const BYTES_MAX = 64 * 1024 * 1024;

/** @param {File} file @returns {Promise<{ name: string, verdict: Verdict }>} */
async function readFile(file) {
  if (file.size > BYTES_MAX) return { name: file.name, verdict: { kind: 'unknown', receipt: null, isGood: false, keyId: '', checks: [{ name: 'File', is: 'bad', text: 'It is larger than 64 MiB, which no receipt is.' }] } };
  const text = await file.text();
  return { name: file.name, verdict: await aside('verifyReceipt', text).catch(() => verifyReceipt(text)) };
}

export default function Verify() {
  useCss('/css/verify.css');
  useTitle('Receipts');
  const [files, setFiles] = useState(/** @type {{ name: string, verdict: Verdict }[]} */ ([]));
  const [isOver, setOver] = useState(false);
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const take = async (/** @type {FileList | null | undefined} */ list) => {
    const read = await Promise.all([...(list ?? [])].map(readFile));
    setFiles(read);
    if (read.length > 0) say(read.every((it) => it.verdict.isGood) ? 'Every check holds' : 'A check failed');
  };
  useKeys('Receipts', [{ key: 'o', does: 'Choose files', run: () => input.current?.click() }]);
  const onDrop = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    setOver(false);
    void take(event.dataTransfer?.files);
  };
  return html`<div class="bar"><h1>Receipts</h1></div><div class="page verify">
    <div class=${cls('drop', isOver && 'over')} onDragOver=${(/** @type {Event} */ event) => { event.preventDefault(); setOver(true); }} onDragLeave=${() => setOver(false)} onDrop=${onDrop}>
      <p><b>Drop a RECEIPT.json here</b>, or several of one tree.</p><p class="mid small">They are checked in this browser, from the files alone. Nothing is sent anywhere. <code>bonded verify FILE</code> checks the same, and compares them with the logs of your runs.</p>
      <button class="btn" onClick=${() => input.current?.click()}><${Icon} name="file" />Choose files</button><input ref=${input} class="sr" type="file" multiple accept=".json,application/json" aria-label="Receipt files" tabindex="-1" onChange=${(/** @type {any} */ event) => void take(event.target.files)} /></div>
    <${Together} files=${files} />${files.map((it, at) => html`<${Receipt} key=${at} name=${it.name} verdict=${it.verdict} />`)}</div>`;
}

/** What several receipts say of each other. @param {{ files: { name: string, verdict: Verdict }[] }} props */
function Together({ files }) {
  const items = files.filter((it) => it.verdict.kind === 'item').map((it) => it.verdict.receipt);
  const levels = files.filter((it) => it.verdict.kind === 'level').map((it) => it.verdict.receipt);
  const checks = [...chainChecks(items), ...levels.flatMap((level) => levelItemChecks(level, items))];
  if (checks.length === 0) return null;
  return html`<section class="card pad"><h2>Together</h2><${Checks} checks=${checks} /></section>`;
}

/** @param {{ name: string, verdict: Verdict }} props */
function Receipt({ name, verdict }) {
  const { kind, receipt, checks, isGood, keyId } = verdict;
  const bad = checks.filter((it) => it.is !== 'good').length;
  return html`<section class="card pad receipt"><h2><span class="mono">${name}</span> ${isGood ? html`<${Badge} tone="ok" icon="ok">every check holds<//>` : html`<${Badge} tone="bad" icon="bad">${counted(bad, 'check')} failed<//>`}</h2>
    ${receipt && html`<p class="small mid u">${kind === 'level' ? `Level ${receipt.level} of plan ${receipt.plan_id}` : html`Item <b>${safe(String(receipt.work_item?.id))}</b> of plan ${safe(String(receipt.plan_id))}: <b>${safe(String(receipt.status))}</b>. ${safe(String(receipt.work_item?.description ?? ''))}`} Sealed ${dateAndClock(receipt.sealed_at)}.</p>`}
    <${Checks} checks=${checks} />
    ${keyId && html`<div class="note wait"><${Icon} name="key" /><div>A good signature says who signed only if you know the key. Compare its id with the one that you expect: <span class="mono break">${safe(keyId)}</span></div></div>`}
    ${receipt && html`<details><summary>What it says</summary><${JsonView} value=${receipt} /></details>`}</section>`;
}
