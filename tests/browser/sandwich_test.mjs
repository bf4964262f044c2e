// Sandwich, search, names, colours and the panel in Chromium (page_fixture.mjs).
import assert from "node:assert/strict";
import test from "node:test";

import { SHIFT, choose, clickElement, clickFrame, finish, open, press, rgb, sample, shoot, settled, state, sums, text } from "./page_fixture.mjs";

const GEMM = "[GPU_Kernel]nvjet_tst_128x128_64x6_2x1_v_bz_coopA_NNT";
const find = (page, ...path) => page.value(`flamegrid.find(...${JSON.stringify(path)})`);

async function search(page, query) {
	await page.key("/", { code: "Slash", text: "/" });
	await page.type(query);
	await settled(page);
}

test("a sandwich has callers above and callees below, merged over all occurrences", async () => {
	const page = await open("job8");
	const linear = "at::native::linear(at::Tensor const&)"; // stands below attention and below mlp
	const parts = await page.value(`["llama.py:attention:118", "llama.py:mlp:160"].map((name) => flamegrid.find(name).time)`);
	const whole = await page.value("flamegrid.find('llama.py:forward:214').time");

	await clickFrame(page, "llama.py:attention:118");
	await page.key("ArrowDown");
	await settled(page);
	assert.equal((await state(page)).focus.name, linear);
	await clickElement(page, "#sandwich");
	let now = await state(page);
	assert.equal(now.sandwich, linear);
	assert.equal(now.total.name, linear);
	assert.equal(now.total.time, String(BigInt(parts[0]) + BigInt(parts[1])));
	const callers = await page.value(`["llama.py:attention:118", "llama.py:mlp:160"].map((name) => flamegrid.find(name))`);
	assert.deepEqual(callers.map(({ time }) => time), parts);
	for (const caller of callers)
		assert.ok(caller.rect.y < now.total.rect.y);
	const callee = await find(page, "cublasLtMatmul");
	assert.equal(callee.time, now.total.time);
	assert.ok(callee.rect.y > now.total.rect.y);
	assert.ok(BigInt(callee.time) < BigInt(whole));
	await shoot(page, "sandwich");

	assert.equal((await press(page, "ArrowUp")).focus.name, "llama.py:attention:118");
	assert.equal((await press(page, "ArrowUp")).focus.name, "llama.py:forward:214");
	assert.equal((await press(page, "ArrowDown")).focus.name, "llama.py:attention:118");
	assert.equal((await press(page, "Enter")).zoom.name, "llama.py:attention:118");
	await page.reload();
	await settled(page);
	now = await state(page);
	assert.deepEqual([now.sandwich, now.zoom.name], [linear, "llama.py:attention:118"]);
	await press(page, "Escape");
	assert.equal((await press(page, "Escape")).sandwich, "");
	assert.equal((await state(page)).total.name, "all");
	await finish(page);
});

test("a function that calls itself counts once in its sandwich", async () => {
	const page = await open("large");
	const name = await page.value(`(() => {
		const counts = new Map();
		for (let depth = 2; depth < 12; depth++)
			for (const { names } of flamegrid.boxes(depth))
				for (const each of names)
					counts.set(each, (counts.get(each) ?? 0) + 1);
		return [...counts].sort((a, b) => b[1] - a[1])[0][0];
	})()`);
	const outermost = await page.value(`(async () => {
		location.hash = "#search=" + encodeURIComponent(${JSON.stringify(name)});
		while (!(flamegrid.state().search.query && flamegrid.settled()))
			await new Promise(requestAnimationFrame);
		return flamegrid.state().search.matched;
	})()`);

	await page.value(`(location.hash = "#sandwich=" + encodeURIComponent(${JSON.stringify(name)}))`);
	await page.until("flamegrid.state().sandwich && flamegrid.settled()");
	assert.equal((await state(page)).total.time, outermost);
	assert.equal(await page.value(`String(flamegrid.roots().filter(({ rect }) => rect && rect.y < flamegrid.state().total.rect.y)
		.reduce((sum, { time }) => sum + BigInt(time), 0n) <= BigInt(flamegrid.state().total.time))`), "true");
	await finish(page);
});

test("search goes to the next and to the previous match, and says which it is", async () => {
	const page = await open("job8");
	const seen = [];

	await search(page, "nvjet");
	assert.match(await text(page, "matched"), /^3 · \d\d\.\d\d %$/);
	for (let i = 1; i <= 4; i++) {
		seen.push((await press(page, "Enter")).focus);
		assert.match(await text(page, "matched"), new RegExp(`^${i === 4 ? 1 : i}/3 · `));
	}
	assert.equal(new Set(seen.slice(0, 3).map(({ name }) => name)).size, 3);
	assert.equal(seen[3].name, seen[0].name);
	assert.ok(seen[0].rect.x < seen[1].rect.x && seen[1].rect.x < seen[2].rect.x);
	assert.equal((await press(page, "Enter", { modifiers: SHIFT })).focus.name, seen[2].name);
	await clickElement(page, "#next");
	assert.equal((await state(page)).focus.name, seen[0].name);
	await clickElement(page, "#previous");
	assert.equal((await state(page)).search.at, 2);
	assert.equal(await page.value("document.getElementById('search').value"), "nvjet");
	await finish(page);
});

test("a match that is too narrow is zoomed to", async () => {
	const page = await open("job8");

	await search(page, "DtoH");
	assert.equal((await find(page, "[GPU_Memcpy]DtoH")).rect, null);
	const { focus, zoom, search: after } = await press(page, "Enter");
	assert.equal(focus.name, "[GPU_Memcpy]DtoH");
	assert.ok(focus.rect);
	assert.notEqual(zoom.name, "all");
	assert.equal(after.at, 0);
	await finish(page);
});

test("the bar of classes finds a class, and once more ends the search", async () => {
	const page = await open("job8");
	const button = `#classes [data-class="attention"]`;

	await clickElement(page, button);
	const { search: found } = await state(page);
	assert.equal(found.query, "class:attention");
	assert.equal(found.frames, 2);
	await clickElement(page, button);
	assert.equal((await state(page)).search.query, "");
	await finish(page);
});

test("what is no kernel has a class by its name", async () => {
	const page = await open("training");

	for (const [name, word] of Object.entries({ "[GPU1_Memcpy]HtoD": "copy", "[GPU?_Memset]": "memset", "[waits for rank 3]": "wait",
		"[unknown stack]": "unknown", "train.py:main:3": "python", "cudaLaunchKernel": "api", "main": "native", "[torch]": "native" }))
		assert.equal(await page.value(`flamegrid.classOf(${JSON.stringify(name)})`), word, name);
	await finish(page);
});

test("a user's class has its label, a colour of its own, and is found by its name", async () => {
	const page = await open("classes");
	const button = `#classes [data-class="own1"]`;

	for (const [name, word] of Object.entries({ moe_topk_gemm: "own1", my_solver: "attention", other_gemm: "gemm", my_kernel_of_which_no_rule_says_anything: "kernel" }))
		assert.equal((await find(page, `[GPU0_Kernel]${name}`)).class, word);
	assert.match(await page.value(`document.querySelector('${button}').textContent`), /^moe/);
	assert.deepEqual(await page.value("Array.from(document.querySelectorAll('#legend [data-class]'), (item) => item.parentNode.textContent)"
		+ ".filter((label) => /^(moe|attention|GEMM)/.test(label))"), ["attention", "GEMM, convolution", "moe"]);
	const colors = [];
	for (const word of ["own1", "attention", "gemm"])
		colors.push(await rgb(page, `#classes [data-class="${word}"]`));
	assert.equal(new Set(colors).size, 3);
	await clickElement(page, button);
	const { search: found } = await state(page);
	assert.equal(found.query, "class:moe");
	assert.equal(found.frames, 1);
	await clickElement(page, button);
	assert.equal((await state(page)).search.query, "");
	await finish(page);
});

test("names are shown without the GPU, the noise of templates, and the middle of what is too long", async () => {
	const page = await open("training");
	const labels = (name) => page.value(`flamegrid.labelsOf(${JSON.stringify(name)})`);

	assert.deepEqual(await labels("[GPU5_Kernel]void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, " +
		"std::array<char*, 3ul>>(int, float)"), ["vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, array<char*, 3ul>>",
		"vectorized_elementwise_kernel<…>"]);
	assert.deepEqual(await labels("[GPU5_Kernel]void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(int)"),
		["cutlass_80_simt_sgemm_256x128_8x4_nn_align1", "cutlass_80_simt_sgemm_256x128_8x4_nn_align1"]);
	assert.deepEqual(await labels("[GPU5_Memcpy]HtoD"), ["copy HtoD", "copy HtoD"]);
	assert.deepEqual(await labels("train.py:<module>:132"), ["train.py:<module>:132", "train.py:<module>:132"]);
	assert.deepEqual(await labels("[torch]"), ["[torch]", "[torch]"]);
	const cut = await page.value(`flamegrid.fit("[GPU0_Kernel]sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64", 150)`);
	assert.match(cut, /^sm90_.*….*256x64$/);
	// A name of which fewer than eight letters are left says nothing: a narrow box has none, or a whole short one.
	const narrow = await page.value(`Array.from({ length: 100 }, (_, width) => flamegrid.fit("train.py:train_step:41", width))`);
	assert.ok(narrow.some((label) => label) && narrow.every((label) => label === "" || label.replace("…", "").length >= 8), narrow.join("|"));
	// At each width what is left of a name with templates is its begin and its end.
	const templated = "Op<int, 4>::Fn<float, 3>::run<double>";
	const cuts = await page.value(`Array.from({ length: 300 }, (_, width) => flamegrid.fit(${JSON.stringify(templated)}, width))`);
	for (const text of cuts.filter((cut) => cut && cut !== templated && cut !== "Op<…>::Fn<…>::run<…>")) {
		const [head, tail = ""] = text.split("…");

		assert.ok("Op::Fn::run".startsWith(head) && "Op::Fn::run".endsWith(tail) && text.length <= "Op::Fn::run".length, text);
	}
	assert.ok(cuts.includes("Op::Fn::run") && cuts.includes(templated), cuts.join("|"));
	assert.equal(await page.value(`flamegrid.fit("main", 40)`), "main");
	assert.equal((await find(page, "[GPU_Memcpy]HtoD")).label, "copy HtoD");
	await finish(page);
});

test("characters that turn or hide text are shown as boxes, and right-to-left names are isolated", async () => {
	const page = await open("hostile");
	const [label] = await page.value("flamegrid.labelsOf('\\u0645\\u0631\\u062d \\u202egnp.exe')");

	assert.equal(label, "\u2068\u0645\u0631\u062d ▯gnp.exe\u2069");
	assert.equal((await page.value("flamegrid.labelsOf('a\\u0001b\\u001b[31m')"))[0], "a\u2401b\u241b[31m");
	assert.equal(await page.value("/[\\u202a-\\u202e]/.test(document.body.innerText)"), false);
	await finish(page);
});

test("narrow frames are one box with their number, and nothing is left out", async () => {
	const page = await open("large");
	const rows = await page.value(`Array.from({ length: flamegrid.state().rows }, (_, depth) =>
		flamegrid.boxes(depth).map(({ left, right, names }) => [left, right, names.length]))`);
	const shown = rows.flat().reduce((sum, [, , nr]) => sum + nr, 0), { frames } = await state(page);

	assert.equal(shown, frames);
	assert.ok(rows.flat().length < frames / 3);
	const depth = rows.findIndex((row) => row.some(([left, right, nr]) => nr > 10 && right - left > 4));
	const [left, right, nr] = rows[depth].find(([from, to, several]) => several > 10 && to - from > 4);
	const y = (await state(page)).total.rect.h * (depth + 0.5);
	const box = await page.value(`flamegrid.frameAt(${(left + right) / 2}, ${y})`);
	assert.equal(box.nr, nr);
	assert.ok(box.value > Number(box.time));
	const place = await page.value(`(({ x, y }) => ({ x, y }))(document.getElementById("graph").getBoundingClientRect())`);
	await page.send("Input.dispatchMouseEvent", { type: "mouseMoved", x: place.x + (left + right) / 2, y: place.y + y });
	await page.until("!document.getElementById('tip').hidden");
	assert.equal(await page.value("document.querySelector('#tip bdi').textContent"), `${nr} small frames`);
	await page.click(place.x + (left + right) / 2, place.y + y, 2); // the widest of them
	await settled(page);
	assert.deepEqual((await state(page)).zoom.path, box.path);
	await finish(page);
});

test("frames stand by width or by name, with the same sums", async () => {
	const page = await open("job8");
	const children = async () => (await page.value("flamegrid.boxes(5)")).map(({ names }) => names[0]);
	const before = await state(page), wide = await children();

	await choose(page, "shape", "byName");
	const after = await state(page);
	assert.deepEqual(sums(after.total), sums(before.total));
	assert.notDeepEqual(await children(), wide);
	assert.deepEqual(await children(), (await children()).slice().sort((a, b) => new Intl.Collator("en", { numeric: true }).compare(a, b)));
	assert.equal(await page.value("location.hash"), "#order=name");
	await page.reload();
	await settled(page);
	assert.equal((await state(page)).byName, true);
	await finish(page);
});

test("colours can be by module", async () => {
	const page = await open("training");

	await choose(page, "color", "module");
	assert.match(await text(page, "legend"), /train\.py/);
	assert.match(await text(page, "legend"), /\[torch\]/);
	assert.equal(await page.value("location.hash"), "#color=module");
	await shoot(page, "module");
	await choose(page, "color", "class");
	assert.match(await text(page, "legend"), /GEMM/);
	await finish(page);
});

test("the panel of a kernel has its configurations, occupancy, extremes and ranks", async () => {
	const page = await open("job8");

	await clickFrame(page, GEMM);
	assert.equal(await text(page, "class"), "GEMM, convolution");
	assert.match(await text(page, "figures"), /min1\.213 msmax1\.617 ms$/);
	assert.match(await text(page, "configs"), /^Launch configurationgrid 264 · block 384\d+ % occupancy \(registers.*168 registers/);
	assert.match(await text(page, "spread"), /most rank 5: .*\(\+1\d %\)$/);
	assert.equal(await page.value("document.querySelectorAll('#spread .differs').length"), 1);
	assert.equal(await text(page, "origin"), "from llama.py:attention:118");
	await shoot(page, "panel");
	await finish(page);
});

test("the panel leads to what is below, and to the kernels with most time", async () => {
	const page = await open("job8");

	await clickElement(page, "#children button");
	assert.equal((await state(page)).focus.name, "train.py:<module>:212");
	await clickElement(page, "#leaves button");
	const { sandwich, total } = await state(page);
	assert.match(sandwich, /nvjet_tst_128x256/);
	assert.equal(total.name, sandwich);
	await finish(page);
});

test("the link is copied, or the page says where it stands", async () => {
	const page = await open("job8", { hash: "#tab=kernels" });

	await page.value("navigator.clipboard.writeText = async (link) => { window.copied = link; }");
	await clickElement(page, "#copy");
	assert.equal(await page.value("window.copied"), await page.value("location.href"));
	assert.match(await text(page, "said"), /^Link copied/);
	await page.value("navigator.clipboard.writeText = () => Promise.reject(new Error())");
	await clickElement(page, "#copy");
	assert.match(await text(page, "said"), /^Copy the address/);
	await finish(page);
});

test("a sandwich of a function that is not there is the whole graph", async () => {
	const page = await open("training", { hash: "#sandwich=nosuch" }), { expected } = sample("training");

	assert.equal((await state(page)).sandwich, "");
	assert.deepEqual(sums((await state(page)).total), expected.all);
	await finish(page);
});
