// The tab of measured kernels and ranges: what the GPU's counters say of launches, and where kernels stand below the GPU's roofs.

const figureText = (value, text) => value === null || value === undefined ? "–" : text(value);
const giga = (value, unit) => value >= 1000 ? `${(value / 1000).toFixed(2)} T${unit}` :
	value >= 1 || value === 0 ? `${value.toFixed(1)} G${unit}` : `${(value * 1000).toFixed(1)} M${unit}`;
const ofPeak = (value, peak) => value !== null && peak ? 100 * value / peak : -1;

function makeMetrics() {
	const rows = profile.kernel_metrics;
	const figure = (label, of, text, help) => ({ label, help, value: (row) => of(row) ?? -1, text: (row) => figureText(of(row), text) });
	const share = (label, of, help) => ({ label, help, value: of, text: (row) => of(row) < 0 ? "–" : `${of(row).toFixed(1)} %` });
	const nameOf = ({ kernel, range }) => (range ? "[range] " : "") + visibleText(kernel);
	const table = makeTable("Measured kernels or ranges, by launch stack. A name's tooltip has all of its metrics.", [
		{ ...textColumn("Kernel", nameOf), title: ({ metrics, measured }) =>
			metrics.map(({ name, count, mean, min, max, too_low }) => `${visibleText(name)}: ` + (count ? `${mean} (${min} to ${max})` : "–") +
				(count < measured ? `, ${grouped(count)} of ${grouped(measured)} measurements have it` : "") +
				(too_low ? ", too low: the measurement's own time is in it" : "")).join("\n") },
		{ ...textColumn("Launched by", ({ launched_by: line }) => visibleText(line)), title: ({ stack }) => visibleText(stack) },
		timeColumn("Time", ({ ns }) => ns), countColumn("Launches", ({ launches }) => launches),
		{ ...countColumn("Measured", ({ measured }) => measured, "measurements; *: their parts are of different launches"),
			text: ({ measured, passes }) => grouped(measured) + (passes > 1 ? "*" : "") },
		figure("DRAM", (row) => row.bytes_per_ns, (value) => giga(value, "B/s"), "read and written"),
		share("of peak", (row) => ofPeak(row.bytes_per_ns, row.bytes_peak_per_ns)),
		figure(tensorLabel(), (row) => row.flops_per_ns, (value) => giga(value, "FLOP/s"), "operations of tensor cores"),
		share("of peak", (row) => ofPeak(row.flops_per_ns, row.flops_peak_per_ns), "without sparsity"),
		figure("FLOP/B", (row) => row.flops_per_byte, (value) => value.toFixed(1)),
	], rows, 2);

	table.classList.add("wide");
	const edge = atEdge(rows).length, picture = rooflineOf(rows);
	return [...picture, ...(picture.length && edge ? [element("p", `${grouped(edge)} without counted operations of tensor cores ` +
		`${edge === 1 ? "stands" : "stand"} at the left edge of the picture, as far below the roof as the memory's rate is below its peak.`,
		"note")] : []), table];
}

// With the type of numbers whose operations were counted, such as bf16.
const tensorLabel = () => `Tensor ${profile.tensor_type}`.trim();
const atEdge = (rows) => rows.filter(({ flops_per_ns: y, bytes_per_ns: bytes }) => y === 0 && bytes > 0);

// The picture: operations for each byte to the right, operations in a second upwards, both by factors of ten.
function rooflineOf(rows) {
	const points = rows.filter(({ flops_per_byte: x, flops_per_ns: y }) => x > 0 && y > 0);
	const roofs = rows.filter(({ bytes_peak_per_ns: bytes, flops_peak_per_ns: flops }) => bytes > 0 && flops > 0);

	const edge = atEdge(rows);

	if (points.length + edge.length === 0 || roofs.length === 0)
		return [];
	const bytes = Math.max(...roofs.map((row) => row.bytes_peak_per_ns)), flops = Math.max(...roofs.map((row) => row.flops_peak_per_ns));
	const all = points.map(({ flops_per_byte: x }) => x).concat(flops / bytes);
	const left = Math.floor(Math.log10(Math.min(...all))) - 1, right = Math.ceil(Math.log10(Math.max(...all))) + 1;
	const heights = points.map(({ flops_per_ns: y }) => y), top = Math.ceil(Math.log10(Math.max(flops, ...heights)));
	const bottom = Math.min(top - 3, Math.floor(Math.log10(Math.min(...heights, flops))),
		edge.length ? Math.floor(left + Math.log10(bytes)) - 2 : Infinity);
	const WIDTH = 640, HEIGHT = 320, atX = (x) => WIDTH * (Math.log10(x) - left) / (right - left);
	const atY = (y) => HEIGHT * (top - Math.log10(y)) / (top - bottom), ridge = flops / bytes;
	const picture = document.getElementById("roofline").cloneNode(), most = Math.max(...points.concat(edge).map(({ ns }) => ns), 1);
	const add = (name, attributes, words) => {
		const made = document.createElementNS(picture.namespaceURI, name);

		for (const [key, value] of Object.entries(attributes))
			made.setAttribute(key, value);
		if (words !== undefined)
			made.append(words);
		picture.append(made);
		return made;
	};

	picture.setAttribute("viewBox", `-76 -20 ${WIDTH + 96} ${HEIGHT + 60}`);
	picture.setAttribute("class", "roofline");
	picture.removeAttribute("hidden");
	picture.removeAttribute("id");
	picture.setAttribute("aria-label", `${points.length + edge.length} measured kernels below roofs of ${giga(bytes, "B/s")} and ${giga(flops, "FLOP/s")}`);
	for (let power = left; power <= right; power++)
		add("text", { x: atX(10 ** power), y: HEIGHT + 18, "text-anchor": "middle" }, String(+(10 ** power).toPrecision(1)));
	const [unit, prefix] = [[1e3, "T"], [1, "G"], [1e-3, "M"]].find(([least]) => 10 ** top >= least) ?? [1e-6, "k"];
	for (let power = bottom; power <= top; power++)
		add("text", { x: -8, y: atY(10 ** power) + 4, "text-anchor": "end" }, `${+(10 ** power / unit).toPrecision(1)} ${prefix}`);
	add("text", { x: WIDTH, y: HEIGHT + 34, "text-anchor": "end" }, "FLOP for each byte of DRAM");
	add("text", { x: -68, y: -8 }, `FLOP/s, ${tensorLabel().toLowerCase()}`);
	const low = Math.max(10 ** left, 10 ** bottom / bytes);
	add("polyline", { points: [[low, low * bytes], [ridge, flops], [10 ** right, flops]].map(([x, y]) => `${atX(x)},${atY(y)}`).join(" ") });
	for (const row of points.concat(edge)) {
		const { kernel, stack, ns, range, flops_per_byte: x, flops_per_ns: y, bytes_per_ns: rate } = row;
		const point = add("circle", { cx: y ? atX(x) : 0, cy: y ? atY(y) : Math.min(atY(low * rate), HEIGHT), r: 3 + 9 * Math.sqrt(ns / most) });
		const title = document.createElementNS(picture.namespaceURI, "title");

		title.append(`${range ? "[range] " : ""}${visibleText(kernel)}: ${giga(y, "FLOP/s")}, ${x.toFixed(1)} FLOP/B, ${timeText(ns)}\n${visibleText(stack)}`);
		point.append(title);
	}
	return [picture];
}
