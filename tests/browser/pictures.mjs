// Makes the pictures of docs/ from sample data, in Chromium: ninja -C build page_pictures
// node pictures.mjs CHROMIUM WRITE_SAMPLE FOLDER [NAME...]; with names only those. pngquant makes them smaller if it is there.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { Browser } from "./devtools.mjs";

const [chromium, writeSample, folder, ...wanted] = process.argv.slice(2);
const DARK = [{ name: "prefers-color-scheme", value: "dark" }];

// To the fourteenth piece of work on the first strip.
const PIECE = `document.getElementById("axis").focus();
	for (let i = 0; i < 14; i++)
		document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }))`;

// select: the name of a frame that is clicked before. act: what the page does before.
const PICTURES = [
	{ name: "page", kind: "job64" },
	{ name: "ranks-1", kind: "gpu1" },
	{ name: "ranks-8", kind: "job8", select: "[GPU_Kernel]nvjet_tst_128x256_64x4_2x1_v_bz_coopB_NTT" },
	{ name: "kernels", kind: "job8", hash: "#tab=kernels", height: 640 },
	{ name: "steps", kind: "job8", hash: "#tab=steps", height: 640 },
	{ name: "roofline", kind: "roofline", hash: "#tab=metrics", height: 760 },
	{ name: "energy", kind: "trainenergy", height: 440, select: "[GPU0_Kernel]nvjet_tst_256x128_64x4" },
	{ name: "use", kind: "trainuse", height: 480, select: "[GPU0_Kernel]vectorized_elementwise_kernel" },
	{ name: "ranks-64", kind: "job64", hash: "#tab=ranks" },
	{ name: "ranks-512", kind: "job512", hash: "#tab=ranks" },
	{ name: "times", kind: "times8", hash: "#time=10.6-12.9", height: 560 },
	{ name: "times-part", kind: "timespart", act: PIECE, height: 560 },
	{ name: "frames-1k", kind: "thousand" },
	{ name: "frames-50k", kind: "fifty_thousand" },
	{ name: "frames-1m", kind: "million" },
	{ name: "dark", kind: "job64", media: DARK },
	{ name: "protanopia", kind: "job64", vision: "protanopia" },
	{ name: "deuteranopia", kind: "job64", vision: "deuteranopia" },
	{ name: "tritanopia", kind: "job64", vision: "tritanopia" },
	{ name: "phone", kind: "job8", width: 390, height: 844 },
	{ name: "difference", kind: "jobdiff" },
	{ name: "changes", kind: "jobdiff", hash: "#tab=changes", height: 640 },
];

async function clickFrame(page, name) {
	const { x, y } = await page.value(`(() => {
		const { rect } = flamegrid.find(${JSON.stringify(name)}), box = document.getElementById("graph").getBoundingClientRect();
		return { x: box.x + rect.x + Math.min(20, rect.w / 2), y: box.y + rect.y + rect.h / 2 };
	})()`);

	await page.click(x, y);
	await page.value("document.getElementById('search').blur()");
}

async function take(browser, scratch, { name, kind, hash = "", width = 1280, height = 800, media = [], vision, select, act }) {
	const sample = join(scratch, `${kind}.html`), path = join(folder, `${name}.png`);

	execFileSync(writeSample, [kind, sample]);
	const page = await browser.open(pathToFileURL(sample).href + hash, { width, height, media });
	await page.until("window.flamegrid?.settled()");
	if (select)
		await clickFrame(page, select);
	if (act)
		await page.value(act);
	if (vision)
		await page.send("Emulation.setEmulatedVisionDeficiency", { type: vision });
	await page.until("flamegrid.settled()");
	writeFileSync(path, await page.screenshot());
	await page.close();
	spawnSync("pngquant", ["--force", "--skip-if-larger", "--strip", "--output", path, "128", path]);
	console.log(`${path}: ${statSync(path).size} bytes`);
}

mkdirSync(folder, { recursive: true });
const scratch = mkdtempSync(join(tmpdir(), "flamegrid-pictures-")), browser = new Browser(chromium);
try {
	for (const picture of PICTURES.filter(({ name }) => wanted.length === 0 || wanted.includes(name)))
		await take(browser, scratch, picture);
} finally {
	await browser.close();
	rmSync(scratch, { recursive: true });
}
