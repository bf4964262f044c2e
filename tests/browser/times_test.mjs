// The time axis in Chromium (page_fixture.mjs). The samples are those of times_sample.c.
import assert from "node:assert/strict";
import test from "node:test";

import { SHIFT, clickElement, finish, open, press, rgb, settled, shoot, state, text } from "./page_fixture.mjs";

const BIN_NS = 20e6;
const times = (page) => page.value("flamegrid.times()");
const hash = (page) => page.value("decodeURIComponent(location.hash)");
const isHidden = (page, id) => page.value(`document.getElementById("${id}").hidden`);

// What the sample has in a bin, in percent.
const levelsOf = (rank, bin, bins) => {
	const scale = bin === bins - 1 ? 2 : 1; // the last bin is half as long
	const sums = [(bin * 7 + rank * 13) % 60, bin === 17 ? 5 : 0, ...[[0, 0, 0], [0, 20, 0], [0, 0, 0], [12, 0, 8]][Math.floor(bin / 50) % 4],
		bin % 10 === 0 ? 4 : 0, 0]
		.map((sum = 0, i, all) => all.slice(0, i + 1).reduce((whole, part) => whole + part, 0) * scale);
	const most = Math.max(100, sums.at(-1)), levels = sums.map((sum) => Math.floor((sum * 100 + most / 2) / most));

	return levels.map((level, i) => level - (i ? levels[i - 1] : 0));
};

// Where a time is on a strip.
async function placeOf(page, ns, strip = 0) {
	const { left, width, top, spanNs, first } = await times(page);
	const box = await page.value(`(({ x, y }) => ({ x, y }))(document.getElementById("axis").getBoundingClientRect())`);

	return { x: box.x + left + ns / spanNs * (width - left), y: box.y + top + (strip - first + 0.5) * 16 };
}

async function mouse(page, type, { x, y }) {
	await page.send("Input.dispatchMouseEvent", { type, x, y, button: type === "mouseMoved" ? "none" : "left", clickCount: 1,
		buttons: type === "mouseReleased" ? 0 : 1 });
}

async function drag(page, from, to) {
	await mouse(page, "mousePressed", await placeOf(page, from));
	await mouse(page, "mouseMoved", await placeOf(page, (from + to) / 2));
	await mouse(page, "mouseMoved", await placeOf(page, to));
	await mouse(page, "mouseReleased", await placeOf(page, to));
	await settled(page);
}

// A range of an address counts after the change of the address, in a later task of the page.
async function isNoRange(page, wrong) {
	await page.value("location.hash = '#time=3-4'");
	await page.until("flamegrid.times().range?.[1] === 4e9 && flamegrid.settled()");
	await page.value(`location.hash = '#time=${wrong}'`);
	await page.until("flamegrid.times().range === null && flamegrid.settled()");
}

test("a profile without a timeline has no time axis", async () => {
	const page = await open("training", { hash: "#time=1-2" });

	assert.equal(await isHidden(page, "times"), true);
	assert.equal(await times(page), undefined);
	assert.equal(await page.value("document.getElementById('times-keys').hidden"), true);
	await press(page, "ArrowDown");
	assert.doesNotMatch(await hash(page), /time/);
	await finish(page);
});

test("each strip has what its device did in each bin", async () => {
	const page = await open("times"), { bins, binNs, spanNs, levels, devices, ticks, apart } = await times(page);

	assert.deepEqual([bins, binNs, spanNs, devices.length, apart], [500, BIN_NS, 499.5 * BIN_NS, 8, 1]);
	levels.forEach((parts, rank) => {
		for (let bin = 0; bin < bins; bin++)
			assert.deepEqual(parts.map((part) => part[bin]), levelsOf(rank, bin, bins), `rank ${rank}, bin ${bin}`);
	});
	assert.deepEqual(ticks.map(({ number }) => number), Array.from({ length: 40 }, (_, i) => i + 1));
	assert.equal(ticks[0].time, spanNs / 10);
	assert.equal(await text(page, "times-what"), "Time: 9.990 s, 8 GPUs, 40 steps");
	assert.equal(await text(page, "times-legend"), "kernelsCUDA graphsNCCL movesNCCLNCCL waitscopies, memsetsidle");
	assert.equal(await isHidden(page, "range"), true);
	await shoot(page, "times");
	await finish(page);
});

test("what the axis lacks is told, and hostile names are text", async () => {
	const page = await open("times");

	assert.equal(await text(page, "times-lack"), "2 nodes' events are not here; 3 GPUs more have no strip: a page has 8; 12,345 older " +
		"events were dropped, as --timeline and --max-size asked; 1 event is missing: the disk did not take all; 2 parts of the " +
		"timeline's files could not be read; 7 events are left out: the clock or the process is not known");
	await mouse(page, "mouseMoved", await placeOf(page, 5.25 * BIN_NS));
	await page.until("!document.getElementById('tip').hidden");
	assert.match(await page.value("document.querySelector('#tip span').textContent"),
		/^rank 0 · <\/script><img src=x onerror=alert\(1\)>␛\[31m GPU0: /);
	await drag(page, 1e9, 2e9);
	assert.match(await text(page, "range-commands"), /^flamegrid timeline 'a dir\/it'\\''s \$\(x\)' --from 1s --to 2s /);
	assert.equal(await page.value("document.images.length"), 0);
	await finish(page);
});

test("the pointer is told the time, the step and the shares", async () => {
	const page = await open("times");

	await mouse(page, "mouseMoved", await placeOf(page, 170.5 * BIN_NS, 1));
	await page.until("!document.getElementById('tip').hidden");
	assert.match(await page.value("document.querySelector('#tip bdi').textContent"), /^3\.4[012] s · step 11 of the first rank$/);
	const [kernels, graphs, moves, , waits, copies] = levelsOf(1, 170, 500);
	assert.equal(await page.value("document.querySelector('#tip span').textContent"), "rank 1 · node000 GPU1: " +
		`kernels ${kernels} %, CUDA graphs ${graphs} %, NCCL moves ${moves} %, NCCL 0 %, NCCL waits ${waits} %, copies, memsets ${copies} %, ` +
		`idle ${100 - kernels - graphs - moves - waits - copies} %`);
	await mouse(page, "mouseMoved", await placeOf(page, 1 * BIN_NS, 1));
	await page.until("/^0\\.0[123] s$/.test(document.querySelector('#tip bdi').textContent)"); // before the first step
	await page.value("flamegrid.times().ticks.splice(11, 3).length"); // the begins of steps 12 to 14 are missing
	await mouse(page, "mouseMoved", await placeOf(page, 170.5 * BIN_NS, 1));
	await page.until("/^3\\.4[012] s$/.test(document.querySelector('#tip bdi').textContent)"); // how long did step 11 last?
	await finish(page);
});

test("numbers of steps that stand close together do not overlap", async () => {
	const page = await open("times");

	// The texts of the line of steps, as it was painted last: half of the steps come within 0.2 s, and the others much later.
	await page.value(`(() => {
		const paint = CanvasRenderingContext2D.prototype.fillText;

		CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
			if (text === "steps")
				window.painted = [];
			if (/^…?\\d+$/.test(text))
				window.painted.push([text, x, x + this.measureText(text).width]);
			paint.call(this, text, x, y);
		};
		flamegrid.times().ticks.forEach((tick, i) => tick.time = (i < 20 ? 0.5e9 : 8e9) + i * 1e7);
		return 0;
	})()`);
	await page.resize(1100, 700); // paints anew
	await page.until("window.painted?.length > 1");
	const painted = await page.value("window.painted");
	painted.forEach(([text, left], i) => assert.ok(i === 0 || left >= painted[i - 1][2], `${text} stands on ${painted[i - 1]}`));
	assert.ok(painted.some(([text]) => Number(text) > 20), `none of the later ones: ${painted}`);
	await finish(page);
});

test("one step is no steps", async () => {
	const page = await open("times1");

	assert.equal(await text(page, "times-what"), "Time: 4.990 s, 8 GPUs, 1 step");
	await finish(page);
});

test("a drag selects a range, which the address keeps, with the commands for it", async () => {
	const page = await open("times512");

	await drag(page, 1e9, 2.5e9);
	const [from, to] = (await times(page)).range;
	assert.ok(Math.abs(from - 1e9) <= BIN_NS && Math.abs(to - 2.5e9) <= BIN_NS);
	assert.deepEqual([from % 1e7, to % 1e7], [0, 0]); // times that read well
	const seconds = (ns) => String(ns / 1e9);
	assert.match(await hash(page), new RegExp(`time=${seconds(from)}-${seconds(to)}$`.replaceAll(".", "\\.")));
	assert.equal(await text(page, "range-commands"), `flamegrid timeline runs/prof --from ${seconds(from)}s --to ${seconds(to)}s ` +
		"--format profile -o part\nflamegrid report part --open");
	assert.match(await text(page, "range-what"), /^1(\.01|) s to 2\.(49|5|51) s: 1\.\d+ s, steps 4\d\d to 1[78]\d\d; mean of the GPUs: kernels 30 %, /);
	assert.equal(await isHidden(page, "range-page"), true); // nobody serves it
	await shoot(page, "times-range");
	await page.reload();
	await settled(page);
	assert.deepEqual((await times(page)).range, [from, to]);
	await clickElement(page, "#range-clear");
	assert.equal((await times(page)).range, null);
	assert.equal(await isHidden(page, "range"), true);
	assert.equal(await hash(page), "");
	await page.value("location.hash = '#time=3-4'");
	await page.until("flamegrid.times().range?.[0] === 3e9 && flamegrid.settled()");
	await drag(page, 2e9, 2e9); // a click
	assert.equal((await times(page)).range, null);
	await page.value("document.activeElement.blur()");
	for (const wrong of ["4-3", "900-901", "-1-2", "x", "1", "1-2-3"])
		await isNoRange(page, wrong);
	await finish(page);
});

test("keys move on the axis, select with Shift, and Escape clears", async () => {
	const page = await open("times");

	await page.value("document.getElementById('axis').focus()");
	await press(page, "ArrowRight");
	for (let i = 0; i < 4; i++)
		await press(page, "ArrowRight");
	await press(page, "ArrowDown");
	const [kernels, , , , , copies] = levelsOf(1, 4, 500);
	assert.equal(await text(page, "live"), `0.08 s, rank 1 · node000 GPU1, kernels ${kernels} %, CUDA graphs 0 %, NCCL moves 0 %, NCCL 0 %, NCCL waits 0 %, ` +
		`copies, memsets ${copies} %, idle ${100 - kernels - copies} %`);
	for (let i = 0; i < 3; i++)
		await press(page, "ArrowRight", { modifiers: SHIFT });
	assert.deepEqual((await times(page)).range, [4 * BIN_NS, 8 * BIN_NS]);
	assert.match(await text(page, "live"), /, 0\.08 s to 0\.16 s: 80\.00 ms; /);
	assert.match(await hash(page), /time=0\.08-0\.16/);
	assert.equal((await state(page)).focus.name, "all"); // the graph has such keys, too
	await press(page, "Escape");
	assert.equal((await times(page)).range, null);
	assert.equal(await page.value("document.activeElement.id"), "axis");
	await press(page, "End");
	await press(page, "Home", { modifiers: SHIFT });
	const { range, spanNs } = await times(page);
	assert.ok(range[0] === 0 && Math.abs(range[1] - (spanNs - BIN_NS / 2)) <= BIN_NS);
	assert.match(await page.value("document.getElementById('axis').getAttribute('aria-label')"), /^Time axis of 9\.990 s, 8 devices, 40 steps\. /);
	await finish(page);
});

test("512 strips scroll, and keys bring theirs into view", async () => {
	const page = await open("times512"), { levels, apart, ticks, devices } = await times(page);

	assert.deepEqual([levels.length, apart, ticks.length], [512, 2, 2048]);
	for (let rank = 0; rank < 512; rank += 73)
		for (let bin = 0; bin < 250; bin++)
			assert.deepEqual(levels[rank].map((part) => part[bin]), levelsOf(rank, bin, 250));
	assert.equal(await page.value("document.getElementById('strips').scrollHeight - document.getElementById('strips').clientHeight"), 506 * 16);
	await page.value("document.getElementById('strips').scrollTop = 100 * 16");
	await page.until("flamegrid.times().first === 100");
	await mouse(page, "mouseMoved", await placeOf(page, 3 * BIN_NS, 103));
	await page.until("document.querySelector('#tip span').textContent.startsWith('rank 103 · node012 GPU7: ')");
	await page.value("document.getElementById('axis').focus()");
	await press(page, "ArrowDown");
	await page.until("flamegrid.times().first <= 1");
	assert.match(await text(page, "live"), /rank 1 · node000 GPU1/);
	assert.equal(devices[511][0], "rank 511 · node063 GPU7");
	await finish(page);
});

test("the axis follows dark colours, a phone's width, folding, other tabs and print", async () => {
	const page = await open("times", { width: 390, height: 844 });
	const axisWidth = () => page.value("document.getElementById('axis').getBoundingClientRect().width");

	assert.equal(await axisWidth(), 370);
	assert.ok(await page.value("document.documentElement.scrollWidth") <= 390);
	const bright = await rgb(page, "#times-legend [data-class=nccl]");
	await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
	await settled(page);
	assert.notEqual(await rgb(page, "#times-legend [data-class=nccl]"), bright);
	await shoot(page, "times-phone-dark");
	await page.resize(1000, 700);
	await page.until("document.getElementById('axis').getBoundingClientRect().width > 900");
	await clickElement(page, "#times > summary");
	assert.equal(await page.value("document.getElementById('times').open"), false);
	await clickElement(page, "#times > summary");
	await clickElement(page, "#tab-kernels");
	assert.equal(await axisWidth(), 0);
	await clickElement(page, "#tab-flame");
	await page.until("document.getElementById('axis').getBoundingClientRect().width > 900");
	assert.ok((await page.print()).length > 10000);
	await settled(page);
	assert.ok(await axisWidth() > 900);
	await finish(page);
});

// ---- A part, and its single pieces ----

// Which piece of which rank: 60 of each.
const pieceOf = (boxes, rank, i) => boxes.findIndex((box) => box.strip === rank && box.from === boxes.filter((other) => other.strip === rank)[i].from);

test("the page of a part counts times from the profile's first event", async () => {
	const page = await open("timespart"), { beginNs, endNs, spanNs, ticks, left, width } = await times(page);

	assert.deepEqual([beginNs, endNs, spanNs], [3e9, 12.99e9, 9.99e9]);
	assert.deepEqual(ticks, [2e9, 5e9, 8e9, 11e9].map((time, i) => ({ number: 312500 + i, time })));
	assert.equal(await text(page, "times-what"), "Time: 3 s to 12.99 s: 9.990 s, 2 GPUs, 4 steps, 120 pieces of work");
	assert.equal(await text(page, "part"), "This page has the GPU work that began between 3 s and 12.99 s of the profile. " +
		"The page of the whole: flamegrid report runs/prof --open");
	await page.value("location.hash = '#time=1-4'");
	await page.until("flamegrid.times().range?.[1] === 4e9");
	assert.equal((await times(page)).range[0], 3e9); // what is before is not here
	for (const wrong of ["1-3", "12.99-20"])
		await isNoRange(page, wrong);
	const box = await page.value(`(({ x, y }) => ({ x, y }))(document.getElementById("axis").getBoundingClientRect())`);
	const at = (ns) => ({ x: box.x + left + (ns - beginNs) / spanNs * (width - left), y: box.y + 60 });
	for (const [type, ns] of [["mousePressed", 6e9], ["mouseMoved", 6.5e9], ["mouseMoved", 7e9], ["mouseReleased", 7e9]])
		await mouse(page, type, at(ns));
	await settled(page);
	const { range: [from, to] } = await times(page);
	assert.ok(Math.abs(from - 6e9) <= BIN_NS && Math.abs(to - 7e9) <= BIN_NS);
	assert.match(await text(page, "range-what"), /, step 312501; /);
	assert.equal(await text(page, "range-commands"), `flamegrid timeline runs/prof --from ${from / 1e9}s --to ${to / 1e9}s --format html -o part.html`);
	await finish(page);
});

test("each piece has its name, time and stack under the pointer, by click and by key", async () => {
	const page = await open("timespart"), { boxes, beginNs, spanNs, left, width, top, stripPx } = await times(page);
	const box = await page.value(`(({ x, y }) => ({ x, y }))(document.getElementById("axis").getBoundingClientRect())`);
	const at = ({ strip, lane, from, to }) => ({ x: box.x + left + ((Math.max(from, beginNs) + to) / 2 - beginNs) / spanNs * (width - left),
		y: box.y + top + strip * stripPx + (lane + 0.5) * (stripPx - 2) / 2 });
	const one = boxes[pieceOf(boxes, 1, 13)], first = boxes[0];

	assert.equal(boxes.length, 120);
	assert.deepEqual([first.from, first.to, first.before, first.wait], [2.98e9, 3.02e9, null, 0]);
	assert.deepEqual([...new Set(boxes.map(({ lane }) => lane))].sort(), [0, 1]); // work that runs at once
	assert.ok(boxes.every((a) => boxes.every((b) => a === b || a.strip !== b.strip || a.lane !== b.lane || a.to <= b.from || b.to <= a.from)));
	await mouse(page, "mouseMoved", at(one));
	await page.until("!document.getElementById('tip').hidden");
	const label = (piece) => page.value(`flamegrid.labelsOf(${JSON.stringify(piece.name)})[0]`);
	assert.equal(await page.value("document.querySelector('#tip bdi').textContent"), await label(one));
	assert.match(await page.value("document.querySelector('#tip span').textContent"), /^40\.00 ms(, of which it waits 10\.00 ms)?, from 4\.\d+ s, stream [78]; launched \d\d\.\d\d ms before that\. .+ ‹ .+/);
	await page.click(at(one).x, at(one).y);
	await settled(page);
	const selected = await times(page);
	assert.deepEqual(selected.boxes[selected.piece], one);
	assert.ok((await text(page, "piece-what")).startsWith(`${await label(one)} on rank 1 · node000 GPU1: 40.00 ms`));
	assert.equal(await text(page, "piece-stack"), one.stack.join("\n"));
	await shoot(page, "times-part");
	await clickElement(page, "#piece-show");
	const { path } = (await state(page)).focus;
	assert.equal(path.at(-1).replace(/^\[GPU\d*_/, ""), one.name.replace(/^\[GPU\d*_/, ""));
	assert.deepEqual(path.slice(-1 - one.stack.length, -1), one.stack);
	await clickElement(page, "#piece-close");
	assert.equal(await isHidden(page, "piece"), true);
	await page.value("document.getElementById('axis').focus()");
	await press(page, "Home");
	await press(page, "ArrowUp");
	await press(page, "ArrowUp");
	await press(page, "ArrowRight");
	assert.equal((await times(page)).piece, 0);
	assert.match(await text(page, "live"), /: 40\.00 ms, from 2\.98 s, stream 7; its launch is not known$/);
	await press(page, "ArrowRight");
	assert.equal((await times(page)).piece, 1);
	assert.match(await text(page, "live"), /: 40\.00 ms, from 3\.1 s, stream 7; launched 1\.000 ms before that$/);
	await press(page, "ArrowRight", { modifiers: SHIFT });
	assert.notEqual((await times(page)).range, null);
	await press(page, "Escape");
	assert.deepEqual([(await times(page)).piece, (await times(page)).range], [-1, null]);
	assert.ok((await page.print()).length > 10000);
	await finish(page);
});
