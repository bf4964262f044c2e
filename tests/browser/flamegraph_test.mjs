// The flame graph in Chromium (page_fixture.mjs).
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { CONTROL, SHIFT, STATE, choose, clickElement, clickFrame, finish, folder, open, placeOf, press, rgb, sample, select,
	settled, shoot, state, sums, text, zoomFrame } from "./page_fixture.mjs";

test("the page shows the totals to the unit and says that nothing was lost", async () => {
	const page = await open("training"), { expected } = sample("training");
	const { total, weight, split } = await state(page);

	assert.deepEqual(sums(total), expected.all);
	assert.equal(weight, "time");
	assert.deepEqual(split, []);
	assert.equal(await page.value("document.title"), "llm-pretrain, job 48213");
	assert.match(await page.value("document.getElementById('loss').textContent"), /^Nothing lost\. All 112,920 /);
	assert.equal(await page.value("document.getElementById('simulated').hidden"), true);
	assert.equal(await page.value("document.getElementById('unclean').hidden"), true);
	assert.match(await page.value("document.getElementById('totals').textContent"), /matched> 99\.9\d %|matched99\.9\d %/);
	assert.match(await text(page, "figures"), /^time20\.70 s/);
	assert.equal(await page.value("document.querySelector('#figures div').title"), "20,701,139,240 ns");
	await shoot(page, "training");
	await finish(page);
});

test("a click selects, a double click zooms, and the path leads back", async () => {
	const page = await open("training");

	await clickFrame(page, "model.py:forward:120");
	let now = await state(page);
	assert.equal(now.zoom.name, "all");
	assert.equal(now.focus.name, "model.py:forward:120");
	assert.equal(await text(page, "name"), "model.py:forward:120");
	const { x, y } = await placeOf(page, "model.py:forward:120");
	await page.click(x, y, 2);
	await settled(page);
	now = await state(page);
	assert.equal(now.zoom.name, "model.py:forward:120");
	assert.deepEqual(now.zoom.path,
		["train.py:<module>:132", "train.py:main:108", "train.py:train_step:41", "model.py:forward:120"]);
	assert.equal(now.zoom.rect.w, await page.value("document.getElementById('stage').clientWidth"));
	assert.equal(await page.value("document.querySelector('#path [aria-current]').textContent"), "model.py:forward:120");
	await shoot(page, "zoomed");

	await zoomFrame(page, "train.py:main:108"); // an ancestor, drawn faded above
	assert.equal((await state(page)).zoom.name, "train.py:main:108");
	await clickElement(page, "#path .reset");
	now = await state(page);
	assert.equal(now.zoom.name, "all");
	assert.equal(await page.value("location.hash"), "");
	await finish(page);
});

test("the frame under a point is the frame drawn there", async () => {
	const page = await open("training");
	const misses = await page.value(`(() => {
		const misses = [];
		for (let y = 5; y < 300; y += 10)
			for (let x = 1; x < 1250; x += 7) {
				const frame = flamegrid.frameAt(x, y);
				if (frame && !(frame.rect.x - 1 <= x && x < frame.rect.x + frame.rect.w &&
					       frame.rect.y <= y && y < frame.rect.y + frame.rect.h))
					misses.push([x, y, frame.name]);
			}
		return misses;
	})()`);

	assert.deepEqual(misses, []);
	assert.equal((await page.value("flamegrid.frameAt(640, 10)")).name, "all");
	assert.equal((await page.value("flamegrid.frameAt(640, 30)")).name, "train.py:<module>:132");
	assert.equal(await page.value("flamegrid.frameAt(640, 550)"), null);
	await finish(page);
});

test("a hovered frame has a tip, and a selected one its figures", async () => {
	const page = await open("training");
	const { x, y } = await placeOf(page, "loader.py:__next__:55");

	await page.send("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
	await page.until(`${STATE}.hover?.name === "loader.py:__next__:55" && flamegrid.settled()`);
	assert.equal(await page.value("document.querySelector('#tip bdi').textContent"), "loader.py:__next__:55");
	assert.equal(await text(page, "name"), "all"); // what is selected stays
	await shoot(page, "hover");
	await clickFrame(page, "loader.py:__next__:55");
	assert.match(await text(page, "figures"), /^time317\.\d ms.*of all1\.\d\d %of parent100 %count2,406mean\d+\.\d µsbytes18\.75 GiB$/);
	assert.match(await text(page, "spread"), /^On 4 of 4 ranks.*least rank 0: .*most rank 3/);
	assert.equal(await page.value("document.querySelectorAll('#spread rect').length"), 4);
	assert.match(await text(page, "origin"), /^loader\.py, line 55, in __next__$/);
	await finish(page);
});

test("a selected frame has the histogram of all durations below it", async () => {
	const page = await open("training"), label = () => page.value("document.querySelector('#durations svg').getAttribute('aria-label')");
	const bars = () => page.value("Array.from(document.querySelectorAll('#durations title'), (title) => title.textContent)");

	assert.equal(await page.value("document.querySelector('#durations svg').getAttribute('role')"), "img");
	await clickFrame(page, "loader.py:__next__:55");
	assert.match(await label(), /^Histogram of 2,406 durations, .* to .* [mµ]s: half within .*, 90 % within .*, 99 % within .*$/);
	const counts = (await bars()).map((bar) => Number(/: ([\d,]+)$/.exec(bar)[1].replace(/,/g, "")));
	assert.equal(counts.reduce((sum, count) => sum + count), 2406);
	assert.ok(counts[0] > 0 && counts[counts.length - 1] > 0);
	assert.match((await bars())[0], /^\d+\.\d+ µs to \d+\.\d µs: [\d,]+$/);
	assert.match(await text(page, "durations"), /^2,406 durations, /);
	await finish(page);
});

test("search shows the exact share and counts each path once", async () => {
	const page = await open("training"), { expected } = sample("training");

	await page.key("/", { code: "Slash", text: "/" });
	await page.type("GEMM");
	await settled(page);
	let { search, total } = await state(page);
	assert.equal(search.query, "GEMM");
	assert.equal(search.matched, expected.gemm.time); // the caller cublasGemmEx matches too
	assert.equal(search.visible, total.time);
	const percent = 100 * Number(expected.gemm.time) / Number(expected.all.time);
	assert.equal(search.text, `${search.frames} · ${percent.toFixed(2)} %`);
	await shoot(page, "search");

	await zoomFrame(page, "model.py:forward:120");
	({ search } = await state(page));
	assert.equal(search.visible, (await state(page)).zoom.time);
	assert.ok(BigInt(search.matched) < BigInt(expected.gemm.time));

	await page.key("Escape"); // the search first
	await settled(page);
	assert.equal((await state(page)).search.query, "");
	assert.equal((await state(page)).zoom.name, "model.py:forward:120");
	await page.key("Escape");
	await settled(page);
	assert.equal((await state(page)).zoom.name, "train.py:train_step:41");
	await finish(page);
});

test("search takes a regular expression and says when it is none", async () => {
	const page = await open("training", { hash: "#join=0" }), { expected } = sample("training");

	await page.key("f", { code: "KeyF", modifiers: CONTROL });
	await page.type("/^\\[GPU1_/");
	await settled(page);
	assert.equal((await state(page)).search.matched, expected.GPU1.time);
	await page.value("document.getElementById('search').select()");
	await page.type("/(/");
	await settled(page);
	assert.equal((await state(page)).search.text, "not a regular expression");
	assert.equal(await page.value("document.getElementById('search').ariaInvalid"), "true");
	await page.value("document.getElementById('search').select()");
	await page.type("train.py");
	await settled(page);
	const { search } = await state(page);
	const unknown = await page.value("flamegrid.find('[unknown stack]').time");
	assert.equal(BigInt(search.matched), BigInt(expected.all.time) - BigInt(unknown));
	await finish(page);
});

test("a regular expression that a link brings cannot keep the page busy for ever", async () => {
	for (const [query, text] of Object.entries({ "/^([a-z0-9]+_?)+_zzz$/": "too slow an expression", "/(a|aa)+$x/": "too slow an expression",
		"/((.*)?){9}x/": "too slow an expression", "/.*.*.*x/": "too slow an expression", "/a?a?a?a?a?a?a?a?a?x/i": "too slow an expression",
		"/([)]|\\))+.*zzz/": "too slow an expression", "/[(+*]+\\(zzz(?:y)+?/": "no match", "/(zzz)+|(z|y)?w{3}/": "no match" })) {
		const page = await open("training", { hash: `#search=${encodeURIComponent(query)}` });
		const { search } = await state(page);

		assert.equal(search.query, query);
		assert.equal(search.text, text, query);
		assert.equal(await page.value("document.getElementById('search').value"), query);
		await finish(page);
	}
});

test("splits stand at the root in their fixed order with exact sums", async () => {
	const page = await open("training"), { expected } = sample("training");

	await choose(page, "split", "gpu");
	let roots = await page.value("flamegrid.roots()");
	assert.deepEqual(roots.map((root) => [root.name, root.class]), [["GPU0", "group"], ["GPU1", "group"]]);
	assert.deepEqual(roots.map(sums), [expected.GPU0, expected.GPU1]);

	await choose(page, "split", "rank");
	await choose(page, "split", "host");
	roots = await page.value("flamegrid.roots()");
	assert.deepEqual(roots.map(({ name }) => name), ["node01", "node02"]);
	assert.deepEqual(roots.map(sums), [expected.node01, expected.node02]);
	const rank3 = await page.value("flamegrid.find('node02', 'rank3', 'GPU1')");
	assert.deepEqual(sums(rank3), expected.rank3);
	assert.deepEqual(sums((await state(page)).total), expected.all);
	await shoot(page, "split");

	await choose(page, "split", "stream");
	await choose(page, "split", "thread");
	assert.notEqual(await page.value("flamegrid.find('node01', 'rank0', 'GPU0', 'stream7', 'thread 4100')"), null);
	await finish(page);
});

test("a filter keeps one host, rank, GPU or stream", async () => {
	const page = await open("training"), { expected } = sample("training");
	await select(page, "host", "node02");
	assert.deepEqual(sums((await state(page)).total), expected.node02);
	await select(page, "rank", "3");
	assert.deepEqual(sums((await state(page)).total), expected.rank3);
	await page.reload();
	await settled(page);
	assert.deepEqual(sums((await state(page)).total), expected.rank3);
	await select(page, "host", "");
	await select(page, "rank", "");
	await select(page, "gpu", "1");
	assert.deepEqual(sums((await state(page)).total), expected.GPU1);
	await finish(page);
});

test("leaves of all GPUs can be joined and keep their own names otherwise", async () => {
	const page = await open("training");

	assert.equal((await state(page)).join, true);
	assert.equal(await page.value("flamegrid.find('[GPU0_Memcpy]HtoD')"), null);
	await choose(page, "shape", "join");
	assert.equal(await page.value("flamegrid.find('[GPU_Memcpy]HtoD')"), null);
	assert.equal(await page.value("location.hash"), "#join=0");
	const [first, second] = await page.value("[0, 1].map((gpu) => flamegrid.find(`[GPU${gpu}_Memcpy]HtoD`).time)");
	await choose(page, "shape", "join");
	assert.equal(await page.value("flamegrid.find('[GPU_Memcpy]HtoD').time"), String(BigInt(first) + BigInt(second)));
	assert.equal(await page.value("flamegrid.find('[GPU0_Memcpy]HtoD')"), null);
	await finish(page);
});

test("frames of a framework can be one frame, with the same sums", async () => {
	const page = await open("training"), { expected } = sample("training");
	const top = ["train.py:<module>:132", "train.py:main:108", "train.py:train_step:41"];
	const time = (...path) => page.value(`flamegrid.find(...${JSON.stringify(path)})?.time ?? null`);
	const engine = await time(...top, "torch::autograd::Engine::thread_main(ReadyQueue const&)");

	assert.equal(await time(...top, "[torch]"), null);
	await zoomFrame(page, "at::native::addmm(at::Tensor const&)");
	await choose(page, "shape", "user");
	let now = await state(page);
	assert.equal(now.user, true);
	assert.deepEqual(now.zoom.path, [...top, "model.py:forward:120", "[torch]"]);
	assert.deepEqual(sums(now.total), expected.all);
	assert.equal(await time(...top, "[torch]"), engine);
	assert.equal(await page.value("flamegrid.find('torch::autograd::Engine::thread_main(ReadyQueue const&)')"), null);
	assert.equal(await page.value(`flamegrid.roots().length`), 2);
	// What neighbours had below them is added up: AddmmBackward's cuBLAS, and the others' launches.
	assert.equal(await time(...top, "[torch]", "[torch]"), null);
	assert.ok(await time(...top, "[torch]", "[libcublas]", "cudaLaunchKernelExC"));
	assert.equal((await page.value("flamegrid.find('[torch]').class")), "native");
	await page.reload();
	await settled(page);
	now = await state(page);
	assert.equal(now.user, true);
	assert.equal(now.zoom.name, "[torch]");
	await shoot(page, "user");
	await choose(page, "shape", "user");
	now = await state(page);
	assert.deepEqual(now.zoom.path, [...top, "model.py:forward:120"]); // the last frame that both views have
	assert.deepEqual(sums(now.total), expected.all);
	assert.equal(await time(...top, "torch::autograd::Engine::thread_main(ReadyQueue const&)"), engine);
	await finish(page);
});

test("the switch is there only where there is something to fold", async () => {
	const page = await open("planes");

	assert.equal(await page.value("document.querySelector('input[value=user]')"), null);
	await finish(page);
});

test("what only some planes have one of divides nothing", async () => {
	const page = await open("planes");

	assert.deepEqual(await page.value("[...document.querySelectorAll('#split input')].map((input) => input.value)"), []);
	assert.deepEqual(await page.value("[...document.querySelectorAll('#only select')].map((select) => select.name)"), ["plane"]);
	await finish(page);
});

test("kernels are frames where their stalls are shown, of all GPUs or of each", async () => {
	const page = await open("stalls", { hash: "#plane=stalls" });
	const find = (name) => page.value(`flamegrid.find(${JSON.stringify(name)})`);

	assert.deepEqual(sums((await state(page)).total), { time: "2000", count: "90", bytes: "0" });
	assert.match(await text(page, "totals"), /stalls in kernels90 samples of 2\.000 µs/);
	assert.equal((await find("[GPU_Kernel]gemm")).time, "2000");
	assert.equal((await find("hot.cu:17")).time, "1400");
	assert.deepEqual(await page.value("flamegrid.labelsOf('[stall]≈long scoreboard')"), ["≈long scoreboard", "≈long scoreboard"]);
	for (const [name, word] of [["[GPU_Kernel]gemm", "gemm"], ["[stall]≈long scoreboard", "wait"], ["[stall]selected", "kernel"],
		["[stall]not sampled", "unknown"], ["[other instructions]", "unknown"]])
		assert.equal((await find(name)).class, word, name);
	await choose(page, "shape", "join");
	assert.equal(await find("[GPU_Kernel]gemm"), null);
	assert.equal((await find("[GPU0_Kernel]gemm")).time, "1000");
	await shoot(page, "stalls");
	await finish(page);
});

test("no mean is told of what GPUs use without work, or what is not explained", async () => {
	const page = await open("use");

	assert.match(await text(page, "figures"), /PCIe8\.000 KiB/);
	assert.doesNotMatch(await text(page, "figures"), /GB\/s/);
	await clickFrame(page, "main");
	assert.match(await text(page, "figures"), /PCIe4\.000 KiB, 4\.1 GB\/s/);
	await finish(page);
});

test("a merged profile of both ways of sampling opens, and says how far they agree", async () => {
	const page = await open("both_ways", { hash: "#plane=stalls" });

	assert.match(await text(page, "totals"), /exact windowsagree in 22\.23 % of lines and reasons, 100 % of launches/);
	assert.equal(await page.value("[...document.querySelectorAll('#totals div')].find((total) => /^exact/.test(total.textContent)).title"),
		"4,321 exact samples beside 90 continuous ones");
	assert.deepEqual(sums((await state(page)).total), { time: "2000", count: "90", bytes: "0" });
	await finish(page);
});

test("a page of energy opens with frames as wide as their energy", async () => {
	const page = await open("energy");
	const find = (name) => page.value(`flamegrid.find(${JSON.stringify(name)})`);
	const width = async (name) => (await find(name)).rect.w / (await state(page)).total.rect.w;
	const near = (value, wanted) => Math.abs(value - wanted) < 0.005;

	assert.equal((await state(page)).weight, "energy");
	assert.match(await text(page, "totals"), /energy of GPUs1\.000 kJ/);
	assert.match(await text(page, "figures"), /energy1\.000 kJ/);
	assert.match(await text(page, "figures"), /energy: confidencemedium/);
	assert.ok(near(await width("[GPU0_Kernel]hot"), 0.7) && near(await width("[GPU0_Kernel]cold"), 0.08) && near(await width("[GPU0_Idle]"), 0.2));
	for (const [name, word] of [["[GPU0_Kernel]hot", "kernel"], ["[GPU0_Idle]", "idle"], ["[GPU0_Energy]not explained", "unknown"]])
		assert.equal((await find(name)).class, word, name);
	assert.equal(await page.value("document.getElementById('tab-lines')"), null); // its times are no energy
	await choose(page, "weight", "time");
	assert.ok(near(await width("[GPU0_Kernel]cold"), 0.75));
	assert.equal((await find("[GPU0_Idle]")).time, "0");
	assert.equal(await page.value("location.hash"), "#weight=time");
	await shoot(page, "energy");
	await finish(page);
});

test("the width can be time, count or bytes", async () => {
	const page = await open("training");

	await choose(page, "weight", "bytes");
	assert.equal(await page.value("flamegrid.find('optimizer.py:zero_grad:33').rect.w > 500"), true);
	assert.equal(await page.value("flamegrid.find('model.py:forward:120').rect"), null); // kernels move no counted bytes
	await choose(page, "weight", "count");
	const widths = await page.value(`[flamegrid.find("train.py:next_batch:19"), flamegrid.state().total]
		.map(({ rect, count }) => rect.w / Number(count))`);
	assert.ok(Math.abs(widths[0] - widths[1]) < 1e-6);
	await page.reload();
	await settled(page);
	assert.equal((await state(page)).weight, "count");
	await finish(page);
});

test("every step can be made with the keyboard and is announced", async () => {
	const page = await open("training", { width: 2600 });

	assert.equal((await press(page, "ArrowDown")).focus.name, "train.py:<module>:132");
	assert.equal((await press(page, "ArrowRight")).focus.name, "[unknown stack]");
	assert.match(await page.value("document.getElementById('live').textContent"), /^\[unknown stack\], time 13\.\d+ ms/);
	assert.equal((await press(page, "ArrowLeft")).focus.name, "train.py:<module>:132");
	assert.equal((await press(page, "ArrowDown")).focus.name, "train.py:main:108");
	assert.equal((await press(page, "ArrowDown")).focus.name, "train.py:train_step:41");
	assert.equal((await press(page, "Enter")).zoom.name, "train.py:train_step:41");
	assert.equal((await press(page, "ArrowDown")).focus.name, "torch::autograd::Engine::thread_main(ReadyQueue const&)");
	await shoot(page, "keyboard");
	assert.equal((await press(page, "+", { code: "Equal", text: "+", modifiers: SHIFT })).zoom.name,
		"torch::autograd::Engine::thread_main(ReadyQueue const&)");
	assert.equal((await press(page, "Backspace")).zoom.name, "train.py:train_step:41");
	assert.equal((await press(page, "-", { code: "Minus", text: "-" })).zoom.name, "train.py:main:108");
	assert.equal((await press(page, "ArrowUp")).focus.name, "train.py:<module>:132");
	assert.equal((await press(page, "Escape")).zoom.name, "train.py:<module>:132");
	assert.equal((await press(page, "Home")).zoom.name, "all");
	assert.equal(await page.value("document.activeElement.id"), "graph");
	await finish(page);
});

test("the address keeps zoom, selection, search, split and direction", async () => {
	const page = await open("training");

	await choose(page, "split", "host");
	await choose(page, "shape", "up");
	await zoomFrame(page, "node02", "train.py:<module>:132", "train.py:main:108");
	await page.key("/", { code: "Slash", text: "/" });
	await page.type("flash & <co>");
	await settled(page);
	const before = await state(page);
	assert.equal(before.zoom.path[0], "node02");
	await clickFrame(page, "node02", "train.py:<module>:132", "train.py:main:108", "train.py:train_step:41");
	const { focus } = await state(page);
	await page.reload();
	await settled(page);
	const now = await state(page);
	assert.deepEqual([now.zoom, now.split, now.up, now.search, now.focus],
		[before.zoom, before.split, before.up, before.search, focus]);
	await page.value("location.hash = '#split=gpu'");
	await page.until(`${STATE}.split.join() === "gpu" && flamegrid.settled()`);
	assert.deepEqual([(await state(page)).zoom.name, (await state(page)).search.query], ["all", ""]);
	await finish(page);
});

test("the root can stand below", async () => {
	const page = await open("training", { hash: "#up=1" });
	const { total } = await state(page), leaf = await page.value("flamegrid.find('train.py:main:108').rect");

	assert.ok(total.rect.y > leaf.y);
	assert.equal((await page.value(`flamegrid.frameAt(200, ${leaf.y + 5})`)).name, "train.py:main:108");
	await page.key("ArrowUp");
	assert.equal((await state(page)).focus.name, "train.py:<module>:132");
	await shoot(page, "upward");
	await finish(page);
});

test("hostile names are text everywhere and run nothing", async () => {
	const page = await open("hostile");
	const hostile = "<img src=x onerror=\"window.attacked=1\">";

	await choose(page, "split", "host");
	await page.key("ArrowDown");
	await page.key("Enter");
	await settled(page);
	await clickElement(page, "#path button");
	await page.key("/", { code: "Slash", text: "/" });
	await page.type("</script>");
	await settled(page);
	assert.ok((await state(page)).search.frames > 0);
	assert.equal((await page.value(`flamegrid.find(${JSON.stringify(hostile)})`)).name, hostile);
	assert.notEqual(await page.value("flamegrid.find('line\\u2028separator\\u2029paragraph')"), null);
	assert.notEqual(await page.value("flamegrid.find('not \\ufffd utf-8 \\ufffd( \\ufffd\\ufffd\\ufffd end')"), null);
	assert.notEqual(await page.value("flamegrid.find('control \\u0001\\u001b[31m tab\\there')"), null);
	assert.equal(await page.value("flamegrid.find('W'.repeat(4096)).name.length"), 4096);
	assert.equal(await page.value("document.title"), "</title><script>window.attacked=1</script> <b>&\ufffd");
	assert.equal(await page.value("typeof window.attacked"), "undefined");
	assert.equal(await page.value("document.querySelectorAll('img, iframe, object, embed, link, [onerror]').length"), 0);
	assert.equal(await page.value("document.scripts.length"), 2);
	await shoot(page, "hostile");
	await finish(page);
});

test("loss, simulated GPUs and unclean ends cannot be overlooked", async () => {
	const page = await open("hostile");
	const loss = await page.value("document.getElementById('loss').innerText");

	assert.match(loss, /^1,239 lost\.\s+INCOMPLETE: 1 of 2 agents did not say goodbye: <b>node02<\/b>\.\s+ring_full: 1,234; <img src=x onerror="window.attacked=1">: 5 \(6\.789 µs\)/);
	assert.notEqual(await rgb(page, "#loss"), await rgb(page, "header"));
	assert.equal(await page.value("document.getElementById('simulated').innerText"), "SIMULATED GPU");
	assert.match(await page.value("document.getElementById('unclean').innerText"),
		/^2 of 3 processes ended without a goodbye: .*rank 5, pid 2 on node02/);
	assert.match(await page.value("document.getElementById('totals').innerText"), /20, 2 failed/);
	assert.equal(await page.value("document.getElementById('windows').innerText"), "Captured 10.68 s in 107 windows, not the run");
	await finish(page);
});

test("a profile of which nothing is to be said has no notes", async () => {
	const page = await open("training");

	assert.equal(await page.value("document.getElementById('tab-notes')"), null);
	assert.equal(await page.value("document.getElementById('windows').hidden"), true);
	await finish(page);
});

test("the policy forbids any other script, style and request", async () => {
	const page = await open("training");
	const policy = await page.value("document.querySelector('meta[http-equiv]').content");

	assert.match(policy, /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; script-src 'sha256-[\w+/]{43}=';/);
	await page.value(`(() => {
		const script = document.createElement("script");
		try { script.textContent = "window.attacked = 1"; document.body.append(script); } catch {}
		try { document.body.innerHTML = "<img src=x onerror='window.attacked = 1'>"; } catch {}
		const image = new Image();
		image.src = "http://127.0.0.1:9/";
	})()`);
	await page.until("window.violations.length >= 3");
	assert.equal(await page.value("typeof window.attacked"), "undefined");
	assert.equal((await state(page)).zoom.name, "all");
	await page.close();
});

test("copies, memsets, idle time with its pauses, and steps are told apart", async () => {
	const page = await open("job8");
	const tile = (label) => page.value(`[...document.querySelectorAll('#totals div')].find((div) => div.firstChild.textContent === "${label}").lastChild.textContent`);

	assert.match(await tile("copies"), /^11,520 in /);
	assert.match(await tile("memsets"), /^7,680 in /);
	assert.equal(await tile("busy"), "69 %, 70 % without pauses");
	assert.equal(await tile("steps"), "480, 404.2 ms each");
	await finish(page);
});

test("of several planes the page opens on GPU work, and the others are a choice away", async () => {
	const page = await open("planes");
	let now = await state(page);

	assert.deepEqual(now.only, { plane: "gpu" });
	assert.deepEqual(sums(now.total), { time: "1000", count: "1", bytes: "0" });
	assert.match(await page.value("document.getElementById('totals').textContent"), /GPU time1\.000 µs.*host waits2 in 7\.000 ms/);
	assert.match(await text(page, "totals"), /GPUs idle800 ns, 300 ns in pauses/);
	await select(page, "plane", "sync");
	now = await state(page);
	assert.deepEqual(sums(now.total), { time: "7000000", count: "2", bytes: "0" });
	assert.equal((await page.value("flamegrid.find('[GPU0_Sync]stream')")).class, "wait");
	await select(page, "plane", "");
	now = await state(page);
	assert.equal(now.total.name, "all planes, side by side");
	assert.deepEqual((await page.value("flamegrid.roots()")).map(({ name }) => name).sort(),
		["CUDA calls", "GPU work", "GPUs idle", "host threads off the CPU", "host threads on the CPU", "host waits",
			"loads of GPU code", "overhead", "unified memory"]);
	for (const [name, word] of [["[CPU]", "cpu"], ["[Off-CPU]futex", "wait"], ["[GPU_Launch]cuLaunchKernel", "call"],
		["[GPU0_Idle]", "idle"]])
		assert.equal((await page.value(`flamegrid.find('${name}')`)).class, word);
	assert.equal(await page.value("location.hash"), "#plane=all");
	await shoot(page, "planes");
	await finish(page);
	const host = await open("planes", { hash: "#plane=cpu&split=gpu" });

	assert.deepEqual((await host.value("flamegrid.roots()")).map(({ name }) => name), ["no GPU"]);
	await finish(host);
});

test("a plane that moves no bytes has no such width", async () => {
	const page = await open("planes");
	const offered = () => page.value("[...document.querySelectorAll('#weight label')].filter((label) => label.checkVisibility()).map((label) => label.textContent)");

	assert.deepEqual(await offered(), ["Time", "Count"]);
	await select(page, "plane", "um");
	assert.deepEqual(await offered(), ["Time", "Count", "Bytes"]);
	await clickElement(page, "#weight input[value=bytes]");
	assert.equal((await state(page)).weight, "bytes");
	await select(page, "plane", "sync");
	assert.deepEqual(await offered(), ["Time", "Count"]);
	assert.equal((await state(page)).weight, "time");
	assert.equal(await page.value("document.querySelector('#weight input:checked').value"), "time");
	await finish(page);
	const stalls = await open("planes", { hash: "#plane=cpu&weight=bytes" });
	assert.equal((await state(stalls)).weight, "time");
	await finish(stalls);
});

test("a difference is coloured by change, and says what it is held against", async () => {
	const page = await open("diff");
	const places = [];

	for (const name of ["more", "less", "equal"])
		places.push(await placeOf(page, "main", `[GPU0_Kernel]${name}`));
	const [more, less, equal] = await page.value(`(() => {
		const canvas = document.getElementById("graph"), box = canvas.getBoundingClientRect(), ratio = canvas.width / box.width;
		const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);

		return ${JSON.stringify(places)}.map(({ x, y }) => {
			const at = 4 * (Math.round((y - box.y - 7) * ratio) * canvas.width + Math.round((x - box.x) * ratio));

			return [...data.subarray(at, at + 3)];
		});
	})()`);

	assert.ok(more[0] > more[2] + 100, String(more));
	assert.ok(less[2] > less[0] + 100, String(less));
	assert.ok(equal[0] === equal[1] && equal[1] === equal[2], String(equal));
	await clickFrame(page, "main", "[GPU0_Kernel]less");
	assert.match(await text(page, "figures"), /median of 7 ranks2\.500 µschange−2\.000 µs \(−80\.0 %\)$/);
	assert.equal(await text(page, "legend"), "more, by 25 % and abovea little moreas mucha little lessless, by 25 % and above, than median of 7 ranks");
	await finish(page);
});

test("sums beyond 2^53 are exact", async () => {
	const page = await open("huge"), { expected } = sample("huge");

	assert.equal(expected.all.time, String(3n * (2n ** 61n + 1n)));
	assert.deepEqual(sums((await state(page)).total), expected.all);
	assert.equal(await page.value("document.querySelector('#figures div').title"), "6,917,529,027,641,081,859 ns");
	await finish(page);
});

test("a profile without GPU work says so", async () => {
	const page = await open("empty");

	assert.equal(await page.value("document.getElementById('empty').innerText"), "This profile has no GPU work.");
	assert.match(await page.value("document.getElementById('loss').innerText"), /^NOTHING WAS RECORDED: no process started CUDA\.\s+launch_without_record: 3/);
	await page.key("ArrowDown");
	await page.key("Enter");
	await settled(page);
	assert.equal((await state(page)).zoom.name, "all");
	await shoot(page, "empty");
	await finish(page);
});

test("a deep graph scrolls, and a focused frame scrolls into view", async () => {
	const page = await open("large", { width: 3000, height: 320 });

	for (let i = 0; i < 8; i++)
		await page.key("ArrowDown");
	await settled(page);
	const { focus } = await state(page), high = await page.value("document.getElementById('stage').clientHeight");
	assert.equal(focus.path.length, 8);
	assert.ok(8 * focus.rect.h > high);
	assert.ok(await page.value("document.getElementById('stage').scrollTop") > 0);
	assert.ok(focus.rect.y >= 0 && focus.rect.y + focus.rect.h <= high);
	const under = await page.value(`flamegrid.frameAt(${focus.rect.x + focus.rect.w / 2}, ${focus.rect.y + 9})`);
	assert.deepEqual(under.path, focus.path);
	await finish(page);
});

test("the canvas follows the window and the density of the screen", async () => {
	const page = await open("training");

	await page.resize(900, 600, 2);
	await page.until("document.getElementById('graph').width === 2 * (900 - 24)");
	await settled(page);
	assert.equal((await state(page)).total.rect.w, 900 - 24);
	await zoomFrame(page, "train.py:train_step:41");
	assert.equal((await state(page)).zoom.name, "train.py:train_step:41");
	await page.resize(420, 760, 2);
	await page.until("document.getElementById('graph').width === 840");
	assert.equal(await page.value("document.documentElement.scrollWidth <= 420"), true);
	await shoot(page, "narrow");
	await finish(page);
});

test("a tap selects, and a button zooms", async () => {
	const page = await open("training");
	const { x, y } = await placeOf(page, "train.py:train_step:41");

	await page.send("Emulation.setTouchEmulationEnabled", { enabled: true });
	await page.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x, y }] });
	await page.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
	await page.until(`${STATE}.focus.name === "train.py:train_step:41" && flamegrid.settled()`);
	assert.equal((await state(page)).zoom.name, "all");
	await clickElement(page, "#zoom-in");
	assert.equal((await state(page)).zoom.name, "train.py:train_step:41");
	assert.equal(await page.value("document.getElementById('tip').hidden"), true);
	await finish(page);
});

test("dark screens get dark colours", async () => {
	const page = await open("hostile", { media: [{ name: "prefers-color-scheme", value: "dark" }] });

	assert.equal(await rgb(page, "body"), "rgb(22, 24, 27)");
	await page.close();
	const training = await open("training", { media: [{ name: "prefers-color-scheme", value: "dark" }], hash: "#split=rank" });
	await shoot(training, "dark");
	await training.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "light" }] });
	await training.until("getComputedStyle(document.body).backgroundColor === 'rgb(251, 251, 250)'");
	await finish(training);
});

test("it prints, and the screen comes back", async () => {
	const page = await open("training", { media: [{ name: "prefers-color-scheme", value: "dark" }] });
	const pdf = await page.print();

	assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
	writeFileSync(join(folder, "print.pdf"), pdf);
	await settled(page);
	assert.equal((await state(page)).total.rect.w, await page.value("document.getElementById('stage').clientWidth"));
	assert.equal(await page.value("document.documentElement.className"), "");
	await finish(page);
});

test("the page names no other resource", () => {
	const text = readFileSync(sample("training").path, "utf8");

	assert.doesNotMatch(text, /\s(src|href|srcset|action)=|url\(|@import|https?:\/\//);
});
