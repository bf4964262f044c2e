// Large profiles in Chromium (page_fixture.mjs). Times are printed, and decide nothing.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import test from "node:test";

import { choose, clickElement, finish, open, press, sample, settled, shoot, state, sums } from "./page_fixture.mjs";

test("100,000 nodes are drawn, searched and split with exact sums", async () => {
	const page = await open("large"), { expected } = sample("large");
	const { total, frames, rows } = await state(page);

	assert.deepEqual(sums(total), expected.all);
	const draws = await page.value("Array.from({ length: 5 }, () => flamegrid.measure())");
	const loading = await page.value("performance.getEntriesByType('navigation')[0].domComplete");
	const search = await page.value(`(() => {
		const started = performance.now(), field = document.getElementById("search");
		field.value = "Layer<7"; field.dispatchEvent(new Event("input"));
		return performance.now() - started;
	})()`);
	const started = Date.now();
	await choose(page, "split", "gpu");
	const split = Date.now() - started;
	assert.deepEqual((await page.value("flamegrid.roots()")).slice(0, 2).map(sums), [expected.GPU0, expected.GPU1]);
	console.log(`# ${frames} frames in ${rows} rows, ${statSync(sample("large").path).size} bytes: opened in ` +
		`${loading.toFixed(0)} ms, drawn in ${draws.map((ms) => ms.toFixed(1)).join(" ")} ms, searched in ` +
		`${search.toFixed(0)} ms, split in ${split} ms`);
	await clickElement(page, "#search");
	await page.value("document.getElementById('search').select()");
	await page.key("Escape");
	await shoot(page, "large");
	await finish(page);
});

// A million frames: the page answers while it merges them anew.
test("a million frames are drawn, and a split does not stop the page", async () => {
	const page = await open("million"), { expected } = sample("million");
	const { total, frames } = await state(page), size = statSync(sample("million").path).size;

	assert.ok(frames > 1000000);
	assert.ok(size < 10e6, `${size} bytes`);
	assert.deepEqual(sums(total), expected.all);
	const draws = await page.value("Array.from({ length: 30 }, () => flamegrid.measure()).sort((a, b) => a - b)");
	const { firstDrawMs } = await state(page), ready = await page.value("performance.now()"), paint = await page.value("performance.getEntriesByType('paint')[0].startTime");
	// Time passes in the page while the split runs: a timer gets its turns.
	const { turns, longest, whole, sketched, sketch } = await page.value(`(async () => {
		const started = performance.now();
		let turns = 0, last = started, longest = 0, sketched = 0, sketch = null;

		document.querySelector('input[name="split"][value="rank"]').click();
		while (!flamegrid.settled()) {
			await new Promise((resolve) => setTimeout(resolve, 0));
			turns++;
			longest = Math.max(longest, performance.now() - last);
			last = performance.now();
			if (!sketch && flamegrid.state().split.length && flamegrid.state().isSketch) {
				sketched = performance.now() - started;
				sketch = { roots: flamegrid.roots(), frames: flamegrid.state().frames };
			}
		}
		return { turns, longest, whole: performance.now() - started, sketched, sketch };
	})()`);
	assert.ok(turns > 5, `${turns} turns`);
	// A sketch comes first: fewer frames, and the same sums.
	assert.ok(sketch.frames > 4 && sketch.frames < frames / 10, `${sketch.frames} frames in the sketch`);
	assert.deepEqual(sketch.roots.map(({ name }) => name), ["rank0", "rank1", "rank2", "rank3"]);
	assert.deepEqual(sums(sketch.roots[3]), expected.rank3);
	assert.equal((await state(page)).isSketch, false);
	assert.ok((await state(page)).frames > 1000000);
	assert.deepEqual((await page.value("flamegrid.roots()")).map(({ name }) => name), ["rank0", "rank1", "rank2", "rank3"]);
	assert.deepEqual(sums((await page.value("flamegrid.roots()"))[3]), expected.rank3);
	assert.deepEqual(sums((await state(page)).total), expected.all);
	console.log(`# ${frames} frames, ${size} bytes: painted after ${paint.toFixed(0)} ms, drawn after ${firstDrawMs.toFixed(0)} ms, whole before ${ready.toFixed(0)} ms, redrawn in ` +
		`${draws[0].toFixed(1)} to ${draws[15].toFixed(1)} ms, split after ${sketched.toFixed(0)} ms, wholly after ${whole.toFixed(0)} ms, at most ${longest.toFixed(0)} ms at once`);
	await finish(page);
});

// The panel does not pass over all leaves: its sums are those of the frames all the same.
test("the panel's sums of a million frames are exact", async () => {
	const page = await open("million"), { expected } = sample("million");
	const seen = [], textOf = (selector) => page.value(`document.querySelector("${selector}").textContent`);

	for (const key of ["Home", "ArrowDown", "ArrowDown", ...new Array(6).fill("ArrowRight"), "ArrowDown"]) {
		const { focus } = await press(page, key), number = /^([\d,]+) durations/.exec(await textOf("#durations h3"))[1];

		assert.equal(number.replaceAll(",", ""), focus.count, focus.path.join(";"));
		assert.match(await textOf("#spread p:last-child"), / rank \d: /);
		seen.push(focus.count);
	}
	assert.equal(seen[0], expected.all.count);
	assert.ok(new Set(seen).size > 4, seen.join());
	await choose(page, "split", "rank");
	await page.value("document.getElementById('graph').focus()");
	for (const key of ["ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"])
		await press(page, key);
	assert.deepEqual(sums((await state(page)).focus), expected.rank3);
	assert.match(await textOf("#spread"), /^On 1 of 4 ranks/);
	assert.ok((await textOf("#spread p:last-child")).startsWith(`most rank 3: ${await textOf("#figures dd")} `));
	await finish(page);
});

// Drawing takes from each row where the frames around small ones of the next row end. (By name, runs may be longer for it.)
test("rows have the same boxes with and without those of the row before", async () => {
	const agree = "JSON.stringify(flamegrid.ends(true)) === JSON.stringify(flamegrid.ends(false)) && flamegrid.ends(true).flat().length";

	for (const [kind, hash] of [["million", ""], ["million", "#split=rank"], ["job64", "#split=host,rank"]]) {
		const page = await open(kind, { hash });

		for (const key of ["Home", "ArrowDown", "ArrowDown", "Enter", "ArrowDown", "ArrowRight", "Enter"]) {
			await press(page, key);
			assert.ok(await page.value(agree) > 10, `${kind}${hash}, after ${key}`);
		}
		await finish(page);
	}
});

// What was chosen while there is but a sketch is kept when the whole comes.
test("a zoom into the sketch is kept", async () => {
	const page = await open("million");
	const path = await page.value(`(async () => {
		document.querySelector('input[name="split"][value="gpu"]').click();
		while (!flamegrid.state().isSketch)
			await new Promise((resolve) => setTimeout(resolve, 0));
		const canvas = document.getElementById("graph");
		for (const key of ["ArrowDown", "Enter"])
			canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
		return [flamegrid.state().isSketch, flamegrid.state().zoom.path];
	})()`);

	assert.deepEqual(path, [true, ["GPU0"]]);
	await settled(page);
	assert.deepEqual((await state(page)).zoom.path, ["GPU0"]);
	assert.equal((await state(page)).isSketch, false);
	await finish(page);
});

// The later choice holds, whatever the earlier one still does.
test("a new choice takes the place of one that is not done", async () => {
	const page = await open("million"), { expected } = sample("million");

	await page.value(`document.querySelector('input[name="split"][value="rank"]').click();
		document.querySelector('input[name="split"][value="rank"]').click();
		document.querySelector('input[name="split"][value="gpu"]').click();`);
	await settled(page);
	assert.deepEqual((await page.value("flamegrid.roots()")).slice(0, 2).map(sums), [expected.GPU0, expected.GPU1]);
	assert.equal(await page.value("document.getElementById('working').hidden"), true);
	await finish(page);
});
