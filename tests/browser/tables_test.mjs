// The tabs in Chromium (page_fixture.mjs).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { clickElement, finish, open, press, rgb, sample, select, settled, shoot, state, text } from "./page_fixture.mjs";

const openTab = (page, word) => clickElement(page, `#tab-${word}`);
const tabs = (page) => page.value("[...document.querySelectorAll('#tabs button')].map((button) => button.id.slice(4))");
// The texts of a table's rows.
const rowsOf = (page, selector = "#table table") => page.value(`[...document.querySelectorAll(${JSON.stringify(`${selector} tbody tr`)})]
	.map((row) => [...row.children].map((cell) => cell.textContent))`);
const column = async (page, at) => (await rowsOf(page)).map((row) => row[at]);

async function sortBy(page, label) {
	await page.value(`[...document.querySelectorAll("#table thead button")].find((button) => button.textContent === "${label}").click()`);
}

test("a tab is there if it has data", async () => {
	const job = await open("job8"), training = await open("training"), planes = await open("planes"), empty = await open("empty");

	assert.deepEqual(await tabs(job), ["flame", "findings", "kernels", "lines", "steps", "ranks", "collectives", "memory", "notes"]);
	assert.deepEqual(await tabs(training), ["flame", "kernels", "lines", "ranks"]);
	assert.deepEqual(await tabs(planes), ["flame", "findings", "kernels", "lines"]);
	assert.deepEqual(await tabs(empty), ["flame", "notes"]);
	for (const page of [job, training, planes, empty])
		await finish(page);
});

test("measured kernels stand in a table and below the roofs", async () => {
	const page = await open("metrics", { hash: "#tab=metrics" });
	const svg = (selector, of) => page.value(`[...document.querySelectorAll("#table .roofline ${selector}")].map((each) => ${of})`);

	assert.deepEqual(await tabs(page), ["flame", "kernels", "metrics", "lines"]);
	assert.deepEqual(await rowsOf(page), [
		["gemm", "main", "60.00 µs", "20", "4", "1.5 GB/s", "75.0 %", "15.0 GFLOP/s", "75.0 %", "10.0"],
		["[range] <b>norm", "main", "300 ns", "5", "1*", "–", "–", "–", "–", "–"],
	]);
	assert.equal(await page.value("document.querySelector('#table tbody td').title.split('\\n')[0]"), "dram__bytes_read.sum: 1000 (500 to 1500)");
	assert.deepEqual(await svg("circle", "each.textContent.split('\\n')[0]"), ["gemm: 15.0 GFLOP/s, 10.0 FLOP/B, 60.00 µs"]);
	assert.equal(await page.value("document.querySelector('#table > .note')"), null);
	assert.ok((await page.value("[...document.querySelectorAll('#table thead button')].map((button) => button.textContent)")).includes("Tensor bf16"));
	assert.deepEqual(await svg("text", "each.textContent"), ["1", "10", "100", "0.1 G", "1 G", "10 G", "100 G",
		"FLOP for each byte of DRAM", "FLOP/s, tensor bf16"]);
	// The ridge is where both roofs meet: 20 GFLOP/s at 10 FLOP/B, just above the kernel.
	const [roof] = await svg("polyline", "each.getAttribute('points').split(' ').map((point) => point.split(',').map(Number))");
	const [x, y] = (await svg("circle", "[each.getAttribute('cx'), each.getAttribute('cy')].map(Number)"))[0];
	assert.equal(roof.length, 3);
	assert.ok(Math.abs(roof[1][0] - x) < 0.01 && roof[1][1] < y && roof[2][1] === roof[1][1]);
	await sortBy(page, "Launches");
	assert.deepEqual(await column(page, 0), ["gemm", "[range] <b>norm"]);
	await finish(page);
});

test("lines are those of the plane that the graph shows, and tabs of GPU work say that they are", async () => {
	const page = await open("planes");
	const caption = () => page.value("document.querySelector('#table caption').textContent");
	const notes = () => page.value("[...document.querySelectorAll('#table > .note')].map((note) => note.textContent)");
	const lines = { gpu: ["GPU work", "1.000 µs", "1"], sync: ["Host waits", "7.000 ms", "2"], cpu: ["Host threads on the CPU", "50.00 µs", "6"],
		offcpu: ["Host threads off the CPU", "90.00 µs", "7"], calls: ["CUDA calls", "400 ns", "8"], "": ["GPU work", "1.000 µs", "1"] };

	for (const [plane, [words, time, count]] of Object.entries(lines)) {
		await openTab(page, "flame");
		await select(page, "plane", plane);
		await openTab(page, "lines");
		assert.equal(await caption(), `${words} by function. Click one for its callers and callees.`);
		assert.deepEqual(await rowsOf(page), [["main", "100 %", time, time, count]], plane);
		assert.deepEqual(await notes(), []);
		await openTab(page, "kernels");
		assert.deepEqual((await rowsOf(page)).map(([name, , , ns]) => [name, ns]), [["gemm", "1.000 µs"]]);
		assert.deepEqual(await notes(), words === "GPU work" ? [] : [`The graph shows ${words.replace("Host", "host")}. This tab has GPU work.`]);
	}
	await openTab(page, "flame");
	await select(page, "plane", "um");
	await openTab(page, "lines");
	assert.deepEqual(await rowsOf(page), []); // no line of the program has any of it
	await finish(page);
});

test("the lines of stalls have the kernels' time again, and a row leads to the graph of that plane", async () => {
	const page = await open("stalls", { hash: "#plane=stalls&tab=lines" });

	assert.equal((await rowsOf(page)).reduce((sum, row) => sum + Number(row.at(-1)), 0), 90);
	await openTab(page, "kernels");
	assert.equal(await page.value("document.querySelector('#table > .note').textContent"), "The graph shows stalls in kernels. This tab has GPU work.");
	await openTab(page, "lines");
	await clickElement(page, "#table tbody button");
	assert.deepEqual((await state(page)).only, { plane: "stalls" });
	assert.equal((await state(page)).tab, "flame");
	await finish(page);
});

test("findings say what somebody should change", async () => {
	const page = await open("job8");

	assert.equal(await page.value("document.querySelector('#tab-findings b').textContent"), "3");
	await openTab(page, "findings");
	assert.deepEqual(await page.value("[...document.querySelectorAll('.findings li:first-child :is(b, dt, dd, button)')].map((line) => line.textContent)"), [
		"8 of 8 GPUs are idle 30 %: each process waits in its loader (train.py:fetch_batch:30)",
		"Evidence", "464.280 s idle, added up, 100 % of it there; without pauses of 16.000 s",
		"Threshold", "20 %",
		"Cure", "more loader workers, prefetching (prefetch_factor), or a faster place for the data",
	]);
	await shoot(page, "findings");
	await finish(page);
});

test("a finding leads to its line or its kernel, also by the keyboard", async () => {
	const page = await open("job8", { hash: "#tab=findings&rank=3" });
	const shown = async () => {
		const { tab, sandwich, only, total } = await state(page);

		return { tab, sandwich, only, hasTime: total.time !== "0" };
	};

	assert.deepEqual(await page.value("[...document.querySelectorAll('.findings button')].map((button) => button.textContent)"),
		["Show triton_poi_fused_mul_silu_3", "Show loader.py:__next__:41"]);
	assert.equal(await page.value("document.querySelector('.findings li:first-child small').textContent"),
		"This page lacks its stacks: flamegrid report PROFILE --planes gpu,idle -f html -o FILE");
	await page.value("document.querySelector('.findings li:nth-child(3) button').focus()");
	await press(page, "Enter", { text: "\r" });
	assert.deepEqual(await shown(), { tab: "flame", sandwich: "loader.py:__next__:41", only: {}, hasTime: true });
	await openTab(page, "findings");
	await clickElement(page, ".findings li:nth-child(2) button");
	await settled(page);
	assert.deepEqual(await shown(), { tab: "flame", sandwich: "[GPU_Kernel]triton_poi_fused_mul_silu_3", only: {}, hasTime: true });
	await finish(page);
	const planes = await open("planes", { hash: "#tab=findings" });
	await clickElement(planes, ".findings button");
	await settled(planes);
	assert.deepEqual((await state(planes)).only, { plane: "sync" });
	assert.deepEqual((await state(planes)).total.time, "7000000");
	await finish(planes);
});

test("kernels can be sorted, and have all their figures", async () => {
	const page = await open("job8");

	await openTab(page, "kernels");
	assert.equal((await state(page)).tab, "kernels");
	assert.equal(await page.value("location.hash"), "#tab=kernels");
	assert.equal(await page.value("document.getElementById('flame').hidden"), true);
	const rows = await rowsOf(page);
	assert.equal(rows.length, 16);
	assert.deepEqual([rows[0][0], rows[0][1]], ["nvjet_tst_128x256_64x4_2x1_v_bz_coopB_NTT", "GEMM, convolution"]);
	assert.match(rows[0].slice(2).join(" "), /^\d\d\.\d\d % 2\d\d\.\d s 245,760 1\.\d+ ms 914\.1 µs 1\.049 ms 1\.219 ms 1\.219 ms grid 528 · block 384 19 %$/);
	assert.equal(await page.value("document.getElementById('table').scrollWidth <= document.getElementById('table').clientWidth"), true);
	assert.equal(await page.value("document.querySelector('#table th[aria-sort=descending]').textContent"), "Share");
	await sortBy(page, "Count");
	const counts = (await column(page, 4)).map((count) => Number(count.replaceAll(",", "")));
	assert.deepEqual(counts, counts.slice().sort((a, b) => b - a));
	await sortBy(page, "Count");
	assert.equal((await column(page, 4))[0], String(counts[counts.length - 1]).replace(/\B(?=(\d{3})+$)/g, ","));
	await sortBy(page, "Name");
	assert.equal((await column(page, 0))[0], "copy DtoH");
	await shoot(page, "kernels");
	await finish(page);
});

test("a kernel's name opens its sandwich", async () => {
	const page = await open("job8", { hash: "#tab=kernels" });

	await clickElement(page, "#table .link");
	const { tab, sandwich, total } = await state(page);
	assert.equal(tab, "flame");
	assert.equal(sandwich, "[GPU_Kernel]nvjet_tst_128x256_64x4_2x1_v_bz_coopB_NTT");
	assert.ok(total.rect.w > 500);
	await finish(page);
});

test("the sum of all kernels is that of the profile, and filters hold", async () => {
	const page = await open("training", { hash: "#tab=kernels" }), { expected } = sample("training");
	const sum = async () => String((await page.value("[...document.querySelectorAll('#table tbody td:nth-child(4)')].map((cell) => cell.title)"))
		.reduce((all, title) => all + BigInt(title.replace(/\D/g, "")), 0n));

	assert.equal(await sum(), expected.all.time);
	await page.value("location.hash = '#tab=kernels&rank=3'");
	await page.until("flamegrid.state().only.rank === '3' && flamegrid.settled()");
	assert.equal(await sum(), expected.rank3.time);
	await finish(page);
});

test("lines have what they launched themselves, and what is below them", async () => {
	const page = await open("job8", { hash: "#tab=lines" });
	const rows = Object.fromEntries((await rowsOf(page)).map(([name, ...rest]) => [name, rest]));

	assert.equal(rows["train.py:main:187"][1], "0 ns");
	assert.equal(rows["train.py:main:187"][2], await page.value(`(() => {
		const time = Number(flamegrid.find("train.py:main:187").time) / 1e9;
		return time < 1000 ? time.toFixed(1) + " s" : time.toFixed(0).replace(/(\\d{3})$/, ",$1") + " s";
	})()`));
	assert.equal(rows["llama.py:attention:118"][1], rows["llama.py:attention:118"][2]);
	assert.equal((await column(page, 0))[0], "train.py:train_step:88"); // autograd's work has no nearer line
	await shoot(page, "lines");
	await finish(page);
});

test("a line that launches most is divided by its callers, and a helper has its caller, as in the text", async () => {
	const page = await open("helper", { hash: "#tab=lines" });
	const own = (await rowsOf(page)).map(([name, share, time]) => [name, share, time]).filter(([, , time]) => time !== "0 ns");

	assert.deepEqual(own, [
		["train.py:step:88 > ops.py:launch:7", "36.00 %", "45.00 µs"],
		["train.py:warm_up:40 > ops.py:launch:7", "32.00 %", "40.00 µs"],
		["model.py:norm:50 > ops.py:to_float:21", "16.00 %", "20.00 µs"],
		["model.py:attention:12 > ops.py:launch:7", "12.00 %", "15.00 µs"],
		["model.py:norm:51", "4.00 %", "5.000 µs"],
	]);
	await finish(page);
});

test("a program without Python has functions in place of lines", async () => {
	const page = await open("native", { hash: "#tab=lines" });

	assert.deepEqual((await rowsOf(page)).map(([name, , own, all]) => [name, own, all]), [
		["main > solve", "60.00 µs", "60.00 µs"],
		["main > exchange(Halo const&)", "50.00 µs", "50.00 µs"],
		["main", "0 ns", "110.0 µs"],
	]);
	await finish(page);
});

test("back leads to the tab before, and filters are no places of their own", async () => {
	const page = await open("job8"), length = await page.value("history.length");
	const back = (tab) => page.value("history.back()").then(() => page.until(`flamegrid.state().tab === '${tab}' && flamegrid.settled()`));

	await openTab(page, "kernels");
	await page.until("location.hash === '#tab=kernels'");
	await openTab(page, "lines");
	await page.until("location.hash === '#tab=lines'");
	await page.value("document.querySelector('#only select[name=rank]').selectedIndex = 2");
	await page.value("document.querySelector('#only select[name=rank]').dispatchEvent(new Event('change'))");
	await page.until("flamegrid.settled() && location.hash.includes('rank=')");
	assert.equal(await page.value("history.length"), length + 2);
	await back("kernels");
	await back("flame");
	assert.equal(await page.value("location.hash"), "");
	await finish(page);
});

test("ranks that differ stand first, and the others are folded", async () => {
	const page = await open("job64");

	assert.equal(await text(page, "tab-ranks"), "Ranks1 differs");
	await openTab(page, "ranks");
	assert.match(await page.value("document.querySelector('#table > .lead').textContent"), /^63 alike, 1 not: rank 5 \(GEMM, convolution \+15 %\)$/); // and not that it waits less
	const rows = await rowsOf(page, "#table > .heat");
	assert.equal(rows.length, 2);
	assert.equal(rows[0][0], "rank 5");
	assert.match(rows[0][1], /\+15 %$/);
	assert.equal(rows[1][0], "63 alike (median)");
	assert.match(rows[1][rows[1].length - 1], /^\d\d %$/); // busy
	assert.equal(await page.value("document.querySelectorAll('#table > .heat .more').length"), 1);
	assert.equal(await page.value("document.querySelectorAll('#table > .heat .less').length"), 1);
	assert.equal(await page.value("document.querySelector('#table summary').textContent"), "ranks that are alike: 0–4, 6–63");
	await page.value("document.querySelector('#table summary').click()");
	await page.until("document.querySelectorAll('#table details tbody tr').length === 63");
	assert.equal(await page.value("document.querySelectorAll('#table details :is(.more, .less)').length"), 0);
	assert.equal(await page.value("document.querySelector('.strip').getAttribute('role')"), "img");
	await shoot(page, "ranks");
	await finish(page);
});

test("a rank that idles differs, though it does as much work", async () => {
	const page = await open("idle8", { hash: "#tab=ranks" });

	assert.equal(await text(page, "tab-ranks"), "Ranks2 differ");
	assert.equal(await page.value("document.querySelector('#table > .lead').textContent"),
		"6 alike, 2 not: rank 2 (idle 67 %, others 31 %), rank 5 (GEMM, convolution +15 %)");
	const rows = await rowsOf(page, "#table > .heat");
	assert.deepEqual(rows.map(([name]) => name), ["rank 2", "rank 5", "6 alike (median)"]);
	assert.equal(rows[0].at(-1), "33 %");
	assert.equal(await page.value("document.querySelector('#table > .heat tbody tr td:last-child').className"), "number more");
	await finish(page);
});

test("the tab of ranks says who holds up the others, and why", async () => {
	const page = await open("job64", { hash: "#tab=ranks" });

	assert.equal(await page.value("document.querySelector('.verdicts .lead').textContent"),
		"late: rank 5 on node01 (without it up to 4.800 s less, 4.80 % of the time, beyond chance by frequency; " +
		"slower GPU kernels (nvjet_tst_128x128_64x6_2x1_v_bz_coopA_NNT): 94 % of it)");
	const [verdict] = await page.value("Array.from(document.querySelectorAll('.verdicts > ul > li'), (item) => item.innerText)");
	assert.match(verdict, /^rank 5 on node01\s+last in 98\.98 % of 3,840 collectives of all ranks; each other rank waited 4\.800 s for it/);
	assert.match(verdict, /94 % of it: slower GPU kernels \(nvjet/);
	assert.match(verdict, /train\.py:<module> › llama\.py:attention › cublasLtMatmul/);
	await finish(page);
});

test("what to change stands above the tabs, and leads to its reasons", async () => {
	const page = await open("job8");
	const advice = await page.value("Array.from(document.querySelectorAll('#advice button'), (button) => button.textContent)");

	assert.match(advice[0], /^late: rank 5 on node01 \(without it up to 4\.800 s less/);
	assert.equal(advice[1], "8 of 8 GPUs are idle 30 %: each process waits in its loader (train.py:fetch_batch:30)");
	await clickElement(page, "#advice button:first-child");
	assert.equal((await state(page)).tab, "ranks");
	await clickElement(page, "#advice button:last-child");
	assert.equal((await state(page)).tab, "findings");
	await page.close();
	const plain = await open("training");
	assert.equal(await plain.value("document.getElementById('advice').hidden"), true);
	await finish(plain);
});

test("a rank that differs has small bars, beside the median", async () => {
	const page = await open("job64", { hash: "#tab=ranks" });
	const bars = await page.value(`Array.from(document.querySelectorAll(".multiples figure"), (figure) => ({
		name: figure.querySelector("figcaption").textContent,
		rows: Array.from(figure.querySelectorAll(".row"), (row) => ({ label: row.firstChild.textContent, differs: row.classList.contains("differs"),
			bar: row.querySelector(".swatch").getBoundingClientRect().width, median: parseFloat(row.querySelector(".median").style.left) })) }))`);

	assert.deepEqual(bars.map(({ name }) => name), ["rank 5"]);
	const { rows } = bars[0], gemm = rows.find(({ label }) => label.startsWith("GEMM"));
	assert.ok(gemm.differs && gemm.bar > 0);
	assert.deepEqual(rows.filter(({ differs }) => differs).map(({ label }) => label), ["GEMM, convolution", "waiting"]);
	assert.ok(Math.abs(gemm.median - 100 / 1.15) < 1, `${gemm.median} %`);
	await page.close();
	const alike = await open("training", { hash: "#tab=ranks" });
	assert.equal(await alike.value("document.querySelectorAll('.multiples, .verdicts').length"), 0);
	await finish(alike);
});

test("512 ranks are one picture and one row of those that differ", async () => {
	const page = await open("job512", { hash: "#tab=ranks" });

	assert.match(await page.value("document.querySelector('#table > .lead').textContent"), /^511 alike, 1 not: rank 5/);
	assert.equal((await rowsOf(page, "#table > .heat")).length, 2);
	assert.equal(await page.value("document.documentElement.scrollWidth <= innerWidth"), true);
	await shoot(page, "ranks512");
	await finish(page);
});

test("ranks that are all alike say so", async () => {
	const page = await open("training", { hash: "#tab=ranks" });

	assert.equal(await page.value("document.querySelector('#table > .lead').textContent"),
		"All 4 ranks together: none is proven to differ from the others in a class of work.");
	await finish(page);
});

test("a difference lists what changed most, absolute, relative and by step", async () => {
	const page = await open("jobdiff");

	assert.deepEqual(await tabs(page), ["flame", "changes"]);
	assert.equal(await page.value("document.getElementById('split').hidden"), false);
	assert.match(await text(page, "advice"), /^the run takes 404\.200 ms a step/);
	await clickElement(page, "#advice button");
	assert.equal((await state(page)).tab, "changes");
	assert.equal(await page.value("document.querySelector('#table .lead').textContent"),
		"The run takes 404.200 ms a step instead of 410.600 ms (-1.56 %): +5.720 ms in kernels, -12.900 ms in copies, NCCL and by overlap, +780.000 us idle on the average GPU.");
	const rows = await rowsOf(page), row = (name) => rows.find(([label]) => label.includes(name));
	assert.match(row("flash_fwd").join("|"), /^flash::flash_fwd_kernel<.*\|\+[\d.]+ s\|new\|0 ns\|[\d.]+ s\|0 ns\|[\d.]+ ms\|new$/);
	assert.match(row("flash_bwd").join("|"), /\|−[\d.]+ s\|gone\|[\d.]+ s\|0 ns\|[\d.]+ ms\|0 ns\|gone$/);
	assert.match(row("nvjet_tst_128x128").join("|"), /\|\+[\d.]+ s\|\+14 %\|.*\|$/);
	assert.match(row("copy HtoD").join("|"), /\|−[\d.]+ [m]?s\|−67 %\|.*\|−67 %$/);
	const changes = await page.value("Array.from(document.querySelectorAll('#table tbody td:nth-child(2)'), (cell) => cell.className)");
	assert.ok(changes.includes("number more") && changes.includes("number less"), changes.join());
	assert.equal(await page.value("document.documentElement.scrollWidth <= innerWidth"), true);
	await shoot(page, "changes");
	await page.value("document.querySelector('#table .link').click()");
	await settled(page);
	assert.equal((await state(page)).tab, "flame");
	assert.match((await state(page)).sandwich, /Kernel\]/);
	assert.match(await text(page, "figures"), /prof-1203/);
	await shoot(page, "changes-sandwich");
	await finish(page);
});

test("collectives and memory have their tables", async () => {
	const page = await open("job8");

	await openTab(page, "collectives");
	assert.deepEqual((await rowsOf(page)).map(([, ...rest]) => rest.slice(0, 3)).sort(),
		[["all_gather", "8", "30,720"], ["reduce_scatter", "8", "15,360"]]);
	await openTab(page, "memory");
	const rows = await rowsOf(page);
	assert.equal(rows.length, 8);
	assert.deepEqual(rows[0].slice(0, 4), ["rank 7, pid 9007 on node01", "GPU7", "device", "62.11 GiB"]);
	await finish(page);
});

test("steps have their table, if the profile has kinds of steps", async () => {
	const page = await open("steps");

	assert.deepEqual(await tabs(page), ["flame", "kernels", "lines", "steps"]);
	await openTab(page, "steps");
	assert.deepEqual(await rowsOf(page), [["[step] prefill", "60.00 %", "6.000 µs", "2"], ["[step] decode", "40.00 %", "4.000 µs", "2"]]);
	await finish(page);
});

test("marked steps are told by what one of them consists of", async () => {
	const page = await open("job8", { hash: "#tab=steps" });
	const rows = Object.fromEntries((await rowsOf(page)).map(([label, ...rest]) => [label, rest]));

	assert.match(await text(page, "table"), /^480 steps, 404\.2 ms each, on average\./);
	assert.deepEqual(rows["idle GPU"], ["29.91 %", "120.9 ms", "–"]); // 58.035 s without the pause, in 480 steps
	assert.deepEqual(rows["GEMM, convolution"].slice(1), ["142.6 ms", "128"]);
	await shoot(page, "steps");
	await finish(page);
});

test("a part that exceeds the whole reads so, and one just below it is not all", () => {
	const source = readFileSync(new URL("../../report/writers/html/figures.js", import.meta.url), "utf8");
	const percentText = new Function(`${source}; return percentText;`)();

	assert.deepEqual([1340000, 1000000, 999999, 0].map((part) => percentText(part, 1000000)),
		["134.00 %", "100 %", "> 99.99 %", "0.00 %"]);
});

test("of one rank the same steps are told", async () => {
	const page = await open("job8", { hash: "#tab=steps&rank=3" });
	const rows = Object.fromEntries((await rowsOf(page)).map(([label, ...rest]) => [label, rest]));

	assert.equal(rows["idle GPU"], undefined);
	assert.equal(rows["GEMM, convolution"][2], "128");
	await finish(page);
});

test("notes have losses, notices and processes", async () => {
	const page = await open("hostile");

	await openTab(page, "notes");
	const said = await text(page, "table");
	assert.match(said, /ring_full: 1,234 \[ring_full\]/);
	assert.match(said, /What processes said<img src=x onerror="window.attacked=1"> \(3 of 3 processes\)CPython 3\.11\.2 \(2 of 3 processes\)/);
	assert.match(said, /rank 5, pid 2 on node02: python3/);
	assert.match(said, /What profiling cost1\.00 % of the launching threads' time \(guest 64\.000 us: about 64 launches/);
	assert.equal(await page.value("typeof window.attacked"), "undefined");
	await shoot(page, "notes");
	await finish(page);
});

test("tabs follow the arrow keys and have roles", async () => {
	const page = await open("job8");

	await page.value("document.getElementById('tab-flame').focus()");
	assert.equal((await press(page, "ArrowRight")).tab, "findings");
	assert.equal(await page.value("document.activeElement.id"), "tab-findings");
	assert.equal(await page.value("document.activeElement.getAttribute('aria-selected')"), "true");
	assert.equal((await press(page, "ArrowLeft")).tab, "flame");
	assert.equal((await press(page, "ArrowLeft")).tab, "notes");
	assert.equal(await page.value("document.querySelectorAll('#tabs [tabindex=\"0\"]').length"), 1);
	assert.equal(await page.value("document.getElementById('table').getAttribute('role')"), "tabpanel");
	await finish(page);
});

test("a search from a table goes to the graph", async () => {
	const page = await open("job8", { hash: "#tab=ranks" });

	await clickElement(page, "#search");
	await page.type("nvjet");
	await settled(page);
	assert.equal((await state(page)).tab, "flame");
	assert.ok(await page.value("document.getElementById('graph').width > 0"));
	await finish(page);
});

test("a filter that leaves nothing leaves no table", async () => {
	const page = await open("job8", { hash: "#tab=ranks" });

	await page.value("document.getElementById('tab-flame').click()");
	await select(page, "rank", "5");
	await openTab(page, "ranks");
	assert.match(await page.value("document.querySelector('#table > .lead').textContent"), /^1 rank is too few to tell/);
	await finish(page);
});

test("a phone shows everything in one column", async () => {
	const page = await open("job8", { width: 390, height: 844 });

	assert.equal(await page.value("document.documentElement.scrollWidth <= 390"), true);
	const [stage, panel] = await page.value("['stage', 'panel'].map((id) => document.getElementById(id).getBoundingClientRect().toJSON())");
	assert.ok(stage.width >= 380 && stage.height > 250, JSON.stringify(stage));
	assert.ok(panel.top >= stage.bottom - 1);
	await shoot(page, "phone");
	for (const word of ["kernels", "ranks"]) {
		await page.value(`document.getElementById("tab-${word}").click()`);
		assert.equal(await page.value("document.documentElement.scrollWidth <= 390"), true, word);
	}
	await shoot(page, "phone-ranks");
	await finish(page);
});

test("a phone shows what changed, and how, without a swipe", async () => {
	const page = await open("jobdiff", { width: 390, height: 844, hash: "#tab=changes" });
	const boxes = (cells) => page.value(`Array.from(document.querySelectorAll("${cells}"), (cell) => cell.getBoundingClientRect().toJSON())`);

	assert.equal((await state(page)).tab, "changes");
	assert.equal(await page.value("document.documentElement.scrollWidth <= 390"), true);
	const names = await boxes("#table tbody td:nth-child(1)"), changes = await boxes("#table tbody td:nth-child(3)");
	assert.ok(names.length > 5 && changes.length === names.length);
	for (const [i, name] of names.entries()) {
		assert.ok(name.left >= 0 && name.width >= 100, `name ${i}: ${JSON.stringify(name)}`);
		assert.ok(changes[i].right <= 390, `change ${i}: ${JSON.stringify(changes[i])}`);
	}
	await shoot(page, "phone-changes");
	// The other columns are a swipe away, within the table, and the rows keep their names.
	assert.equal(await page.value(`(() => {
		const table = document.getElementById("table");
		table.scrollLeft = 10000;
		const name = document.querySelector("#table tbody td:first-child").getBoundingClientRect();
		const cell = document.querySelector("#table tbody td:last-child").getBoundingClientRect();
		return table.scrollLeft > 0 && cell.right <= 391 && name.left >= 0 && name.left < 20 && document.documentElement.scrollLeft === 0;
	})()`), true);
	await shoot(page, "phone-changes-swiped");
	await finish(page);
});

test("tables have dark colours, too", async () => {
	const page = await open("job64", { hash: "#tab=ranks", media: [{ name: "prefers-color-scheme", value: "dark" }] });

	assert.equal(await rgb(page, "body"), "rgb(22, 24, 27)");
	assert.notEqual(await rgb(page, "#table .more"), "rgba(0, 0, 0, 0)");
	await shoot(page, "ranks-dark");
	await finish(page);
});
