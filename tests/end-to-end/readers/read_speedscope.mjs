// Opens a file in speedscope itself, in Chromium, and has it saved again (Ctrl+S) from what it has understood:
//	node read_speedscope.mjs MODULES CHROMIUM FILE
// Prints JSON: of each profile the name, the unit and the sum of the weights; and all leaves and files.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

import { Browser } from "../../browser/devtools.mjs";

const [modules, chromium, file] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "flamegrid-speedscope-"));
const script = join(folder, "profile.js"); // as speedscope's own command makes it
// The file that it offers for download is kept in the page.
const SAVED = `window.saved = [];
	HTMLAnchorElement.prototype.click = () => {};
	URL.createObjectURL = (blob) => { blob.text().then((text) => saved.push(text)); return ""; };`;

writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))},
	${JSON.stringify(readFileSync(file).toString("base64"))})`);
const browser = new Browser(chromium);
try {
	const url = pathToFileURL(join(modules, "speedscope/dist/release/index.html")).href;
	const page = await browser.open(`${url}#localProfilePath=${script}`, { watch: SAVED });

	await page.until(`document.title !== "speedscope" || /went wrong|unrecognized/i.test(document.body.innerText)`);
	assert.doesNotMatch(await page.value("document.body.innerText"), /went wrong|unrecognized/i);
	await page.key("s", { code: "KeyS", modifiers: 2 });
	await page.until("saved.length > 0");
	const { profiles, shared: { frames } } = JSON.parse(await page.value("saved[0]"));
	const sum = ({ events, weights }) => weights ? weights.reduce((a, b) => a + b, 0)
		: events.length && events.at(-1).at - events[0].at;
	const leaves = new Set();
	for (const { events, samples } of profiles) {
		samples?.forEach((stack) => leaves.add(frames[stack.at(-1)].name));
		events?.forEach(({ type, frame }, i) => type === "O" && events[i + 1].type === "C" && leaves.add(frames[frame].name));
	}
	assert.deepEqual(page.complaints.filter((text) => /error|exception/i.test(text)), []);
	console.log(JSON.stringify({
		profiles: profiles.map((profile) => ({ name: profile.name, unit: profile.unit, sum: sum(profile) })),
		leaves: [...leaves].sort(),
		files: [...new Set(frames.map(({ file }) => file).filter(Boolean))].sort(),
	}));
} finally {
	await browser.close();
	rmSync(folder, { recursive: true, force: true });
}
