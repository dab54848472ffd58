// Two browsers write in one note through 200 disconnections and kills of the server: nothing that was typed is lost, and
// both end with the same text. SEED names another course; DISCONNECTS another number.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { eventually, makeMember, openSigned, startWorld, textOf, until } from './browser.mjs';

const SEED = Number(process.env.SEED ?? 1);
const DISCONNECTS = Number(process.env.DISCONNECTS ?? 200);

let world;
before(async () => (world = await startWorld()));
after(() => world.end());

function random(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Types a word at a random place, as a person does: at the end of a line, in the middle, or as a line of its own. */
async function type(person, rand) {
  const word = `${person.name}${(person.words.length + 1).toString(36)}.`;
  const put = await person.page.evaluate(({ place, how }) => {
    const field = document.querySelector('.ed-field');
    if (!field) return false;
    const lines = field.value.split('\n');
    const line = place % lines.length;
    const from = lines.slice(0, line).reduce((sum, it) => sum + it.length + 1, 0);
    // Never inside a word: what was typed must be found again.
    const gaps = [0, ...[...lines[line].matchAll(/ /g)].map((it) => it.index + 1), lines[line].length];
    const at = from + (how === 0 ? lines[line].length : gaps[place % gaps.length]);
    field.focus();
    field.setSelectionRange(at, at);
    return true;
  }, { place: rand(10_000), how: rand(3) });
  if (!put) return;
  await person.page.keyboard.insertText(rand(4) === 0 ? `\n${word}\n` : ` ${word} `);
  // The field takes nothing while a choice is open; what it took counts.
  if ((await person.page.locator('.ed-field').count()) > 0 && (await textOf(person.page)).includes(word)) person.words.push(word);
}

/** Where both changed the same place, both texts are taken. */
async function choose(person) {
  for (const button of await person.page.locator('.cf button[aria-pressed="false"]', { hasText: 'Both, mine first' }).all()) await button.click({ timeout: 1000 }).catch(() => {});
  const use = person.page.getByRole('button', { name: 'Use the result' });
  if (await use.isEnabled({ timeout: 200 }).catch(() => false)) {
    person.choices += 1;
    await use.click({ timeout: 1000 }).catch(() => {});
  }
}

async function disturb(people, rand) {
  const kind = rand(10);
  if (kind < 4) return world.proxy.cut();
  if (kind < 7) {
    const { context } = people[rand(2)];
    await context.setOffline(true);
    await people[0].page.waitForTimeout(rand(300));
    return context.setOffline(false);
  }
  if (kind < 8) {
    world.proxy.how.isCut = true;
    world.proxy.cut();
    await people[0].page.waitForTimeout(rand(400));
    world.proxy.how.isCut = false;
    return undefined;
  }
  if (kind < 9) {
    // The page itself dies and is loaded again: the draft is in the browser.
    const person = people[rand(2)];
    await until(person.page, () => document.querySelector('.save') !== null);
    await person.page.reload();
    return person.page.waitForSelector('.save');
  }
  await world.workspace.kill();
  return world.workspace.start();
}

test(`two people write through ${DISCONNECTS} disconnections, and nothing is lost (seed ${SEED})`, { timeout: 900_000 }, async (t) => {
  const rand = random(SEED);
  const jon = await makeMember(world, 'jon', 'editor');
  const note = await world.makeNote('Together', Array.from({ length: 8 }, (_, n) => `line ${n} of the text`).join('\n'));
  const people = [
    { name: 'a', words: [], choices: 0, ...(await openSigned(world, `/notes/${note.note_id}`)) },
    { name: 'j', words: [], choices: 0, ...(await openSigned(world, `/notes/${note.note_id}`, { as: jon })) },
  ];
  for (const it of people) await it.page.locator('.ed-field').waitFor();
  for (let n = 0; n < DISCONNECTS; n += 1) {
    for (const person of people) {
      await choose(person);
      for (let k = rand(3); k > 0; k -= 1) await type(person, rand);
    }
    await disturb(people, rand);
  }
  const isQuiet = async (person) => {
    await choose(person);
    return (await person.page.locator('.save').innerText().catch(() => '')).startsWith('Saved');
  };
  await eventually(async () => {
    const quiet = [await isQuiet(people[0]), await isQuiet(people[1])];
    if (!quiet.every(Boolean)) return false;
    const stored = (await world.readNote(note.note_id)).markdown;
    return (await textOf(people[0].page)) === stored && (await textOf(people[1].page)) === stored;
  }, 'both show what is stored', 60_000);
  const { markdown, version } = await world.readNote(note.note_id);
  const words = people.flatMap((it) => it.words);
  t.diagnostic(`${words.length} words, ${version} versions, ${people[0].choices + people[1].choices} choices`);
  const lost = words.filter((it) => !markdown.includes(it));
  assert.deepEqual(lost, [], 'every word that was typed is in the note');
  assert.ok(words.length > DISCONNECTS / 2, 'people wrote');
  for (const it of people) assert.deepEqual(it.faults, []);
});
