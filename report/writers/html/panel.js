// The panel of the selected frame, and the tip of the one under the pointer.
// Names come from the profiled program: they reach the page as textContent only.

const CHILDREN_SHOWN = 6, LEAVES_SHOWN = 8, CONFIGS_SHOWN = 4;

const ofAll = "of all launches of this kernel";

function meanText(time, count) {
	return count > 0n ? timeText(Number(time) / Number(count)) : "–";
}

function figuresOf(frame) {
	const time = sumOf(frame, "time"), count = sumOf(frame, "count"), bytes = sumOf(frame, "bytes");
	const own = sumOf(frame), figures = [], all = exact(sumsOf(tree, choice.weight), 0);

	for (const [resource, label, unit] of profile.resources)
		figures.push(...resourceFigures(frame, resource, label, unit, time));
	figures.push(["time", time < 1000n ? `${time} ns` : timeText(time), `${grouped(time)} ns`]);
	figures.push(["of all", percentText(own, all)]);
	if (frame !== 0)
		figures.push(["of parent", percentText(own, sumOf(frames.parent[frame]))]);
	const isOfSamples = choice.only.plane === "stalls"; // a sample has no time of its own
	figures.push([isOfSamples ? "samples" : "count", grouped(count)]);
	if (count > 0n && !isOfSamples)
		figures.push(["mean", meanText(time, count)]);
	const extremes = extremesOf(configsOf(nameOf(frame)));
	if (extremes)
		figures.push(["min", timeText(extremes.min), ofAll], ["max", timeText(extremes.max), ofAll]);
	if (profile.diff) {
		figures.push([visibleText(profile.diff[0]), weightText(choice.weight, exact(beforeOf(frames, choice.weight), frame))]);
		figures.push(["change", changeText(frame)]);
	}
	if (bytes > 0n)
		figures.push(["bytes", bytes < 1024n ? `${bytes} B` : bytesText(bytes), `${grouped(bytes)} B`]);
	return figures;
}

// A resource's amount, its mean in the time of work, and how sure it is. Amounts of all time have no such mean. More than
// all of a GPU cannot be used: a twentieth is an error of the fit, more is not this work's.
function resourceFigures(frame, resource, label, unit, time) {
	const amount = sumOf(frame, resource), [medium, low] = UNSURE.map((part) => sumOf(frame, resource + part));
	const mean = unit === "mJ" || time === 0n || holdsIdle(frame) ? "" : unit === "ns" ?
		(20n * amount > 21n * time ? ">100 %, which is not this work's alone" : percentText(amount < time ? amount : time, time)) :
		`${(Number(amount) / Number(time)).toFixed(1)} GB/s`;
	const sure = [["high", amount - medium - low], ["medium", medium], ["low", low]].filter(([, part]) => part > 0n);
	const figures = [[label, `${weightText(resource, amount)}${mean && `, ${mean}`}`, `${grouped(amount)} ${unit}`]];

	if (sure.length)
		figures.push([`${label}: confidence`, sure.length === 1 ? sure[0][0] :
			sure.map(([word, part]) => `${word} ${percentText(part, amount)}`).join(", ")]);
	return figures;
}

function changeText(frame) {
	const before = exact(beforeOf(frames, choice.weight), frame), change = sumOf(frame) - before;
	const text = weightText(choice.weight, change < 0n ? -change : change);

	if (change === 0n)
		return "none";
	return `${change < 0n ? "−" : "+"}${text}` +
		(before > 0n ? ` (${change < 0n ? "−" : "+"}${(100 * Math.abs(Number(change)) / Number(before)).toFixed(1)} %)` : "");
}

// ---- Launch configurations ----

const kernelName = (name) => name.replace(/^\[GPU[^_\]]*_Kernel\]/, "");

// Those of a kernel; other names have none.
function configsOf(name) {
	if (!profile.configsByKernel) {
		profile.configsByKernel = new Map();
		for (const config of profile.kernel_configurations ?? []) {
			if (!profile.configsByKernel.has(config.kernel))
				profile.configsByKernel.set(config.kernel, []);
			profile.configsByKernel.get(config.kernel).push(config);
		}
	}
	return /^\[GPU[^_\]]*_Kernel\]/.test(name) ? profile.configsByKernel.get(kernelName(name)) ?? [] : [];
}

const extremesOf = (configs) => configs.length === 0 ? null :
	{ min: Math.min(...configs.map((config) => config.min_ns)), max: Math.max(...configs.map((config) => config.max_ns)) };

const shapeText = (extent) => extent.join("×").replace(/(×1)+$/, "");
const configText = ({ grid, block }) => `grid ${shapeText(grid)} · block ${shapeText(block)}`;

function occupancyText({ occupancy }) {
	if (!occupancy)
		return "";
	return `${(100 * occupancy.warps / occupancy.warps_max).toFixed(0)} % occupancy` +
		(occupancy.limited_by ? ` (${occupancy.limited_by})` : "");
}

function configItem(config) {
	const item = element("li", configText(config)), shared = config.static_shared_bytes + config.dynamic_shared_bytes;
	const more = [occupancyText(config), `${config.registers} registers`, shared ? `${bytesText(shared)} shared` : "",
		`${grouped(config.count)}×`, config.device].filter((text) => text);

	item.append(element("small", more.join(" · ")));
	return item;
}

// ---- Ranks ----

const medianOf = (numbers) => {
	const sorted = Float64Array.from(numbers).sort();

	return sorted.length ? (sorted[sorted.length - 1 >> 1] + sorted[sorted.length >> 1]) / 2 : 0;
};

// All ranks of the profile; those without the frame have 0.
function spreadOf(frame) {
	const { sums } = leafSums(frame, "row"), nr = profile.rows.length, ranks = new Map();

	profile.rows.forEach(({ rank }, row) => rank >= 0 && sums[nr + row] > 0 && ranks.set(rank, (ranks.get(rank) ?? 0) + sums[row]));
	const all = profile.ranks.map((rank) => [rank, ranks.get(rank) ?? 0]);
	const by = all.slice().sort((a, b) => a[1] - b[1]);

	return { all, has: ranks.size, min: by[0], max: by[by.length - 1], median: medianOf(all.map(([, value]) => value)) };
}

// A bar for each rank, or for each group of neighbours the one that differs most.
function rankBars({ all, median, max }) {
	const bars = $("bars").cloneNode(), most = max[1] || 1;
	const per = Math.ceil(all.length / 96), nr = Math.ceil(all.length / per);

	bars.setAttribute("viewBox", `0 0 ${nr * 4} 40`);
	bars.removeAttribute("id");
	for (let i = 0; i < nr; i++) {
		const [, value] = all.slice(i * per, (i + 1) * per).reduce((far, each) =>
			Math.abs(each[1] - median) > Math.abs(far[1] - median) ? each : far);
		const bar = document.createElementNS(bars.namespaceURI, "rect"), height = 40 * value / most;

		bar.setAttribute("x", i * 4);
		bar.setAttribute("y", 40 - height);
		bar.setAttribute("width", 3.4);
		bar.setAttribute("height", height);
		bar.setAttribute("class", differs(value, median) ? "differs" : "");
		bars.append(bar);
	}
	return bars;
}

const ALIKE = 0.05; // ranks within 5 % of the median are alike
const differs = (value, median) => Math.abs(value - median) > ALIKE * median;

function deviationText(value, median) {
	const percent = median === 0 ? 0 : 100 * Math.abs(value - median) / median;

	return median === 0 ? "" : `${value < median ? "−" : "+"}${percent.toFixed(percent < 10 || (percent > 99 && percent < 100) ? 1 : 0)} %`;
}

function showSpread(frame) {
	const spread = profile.ranks.length > 1 && !profile.diff && !tree.isSketch ? spreadOf(frame) : null;

	$("spread").hidden = !spread;
	if (!spread)
		return;
	const of = ([rank, value]) => `rank ${rank}: ${weightText(choice.weight, value)} (${deviationText(value, spread.median)})`;
	$("spread").replaceChildren(element("h3", `On ${spread.has} of ${profile.ranks.length} ranks`), rankBars(spread),
		element("p", `median ${weightText(choice.weight, spread.median)}`), element("p", `least ${of(spread.min)}`),
		element("p", `most ${of(spread.max)}`));
}

// ---- The panel ----

function originText(frame) {
	const id = frames.name[frame], name = textOf(frame), framework = profile.frameworkOf[id];
	const line = /^(.*\.py):(.*):(\d+)$/.exec(name), parts = [];

	if (line)
		parts.push(`${line[1]}, line ${line[3]}, in ${line[2]}`);
	const gpu = /^\[(GPU\d+)_/.exec(name)?.[1];

	if (gpu)
		parts.push(`on ${gpu}`);
	if (framework)
		parts.push(`part of ${profile.names[framework]}`);
	const caller = frame === 0 ? null : lastLine(frames.parent[frame]);
	if (!line && caller)
		parts.push(`from ${visibleText(caller)}`);
	return parts.join("; ");
}

// The innermost line of Python at or above a frame.
function lastLine(frame) {
	for (; frame > 0; frame = frames.parent[frame])
		if (classOfId(profile, frames.name[frame]) === "python")
			return nameOf(frame);
	return null;
}

const TAIL = 12; // characters

// A name in one or two parts. Where there is no room the first one is cut, because the end tells kernels apart.
function nameParts(name) {
	const chars = Array.from(name), cut = chars.length > 2 * TAIL ? chars.length - TAIL : chars.length;

	return [chars.slice(0, cut), chars.slice(cut)].filter(({ length }) => length > 0).map((part) => element("bdi", part.join("")));
}

function frameButton(label, title, share, open) {
	const button = element("button");

	button.type = "button";
	button.title = title;
	button.append(element("span", share), ...nameParts(label));
	button.ariaLabel = `${share} ${label}`;
	button.addEventListener("click", open);
	return button;
}

// The leaves below a frame that have most of its time, wherever they are. A sketch lacks small ones.
function showLeaves(frame) {
	$("leaves").hidden = true;
	if (tree.isSketch || frame >= frames.firstCaller)
		return;
	const { ids, sums } = leafSums(frame, "name", true), all = ids.map((id, i) => [id, sums[i]]).filter(([, value]) => value > 0);
	const most = all.sort((a, b) => b[1] - a[1]).slice(0, LEAVES_SHOWN);
	$("leaves").hidden = all.length < 2;
	const heading = profile.unitOf[choice.weight] ? `Most ${profile.resources.find(([resource]) => resource === choice.weight)[1]} in` : "Most time in";
	$("leaves").replaceChildren(element("h3", all.length > most.length ? `${heading}, of ${grouped(all.length)}` : heading),
		...most.map(([id, value]) => frameButton(labelsOfId(profile, id)[0], visibleText(profile.names[id]),
			percentText(BigInt(Math.round(value)), sumOf(frame)), () => openSandwich(id))));
}

function showChildren(frame) {
	const all = childrenOf(layout, frame).filter((child) => layout.value[child] > 0 && child < frames.firstCaller);
	const most = Array.from(all).sort((a, b) => layout.value[b] - layout.value[a]).slice(0, CHILDREN_SHOWN);

	$("children").hidden = most.length === 0;
	$("children").replaceChildren(element("h3", all.length === most.length ? "Below it" : `Below it: ${grouped(all.length)} frames`),
		...most.map((child) => frameButton(labelOf(child), textOf(child), percentText(sumOf(child), sumOf(frame)), () => focusOn(child))));
}

function showDetails() {
	const frame = focus, configs = configsOf(nameOf(frame)), word = classOf(frame);

	$("name").textContent = frame === 0 && !choice.sandwich ? textOf(frame) : visibleText(nameOf(frame).replace(leafPattern, "")) || labelOf(frame);
	$("class").textContent = CLASS_LABELS[word];
	$("class").hidden = word === "group";
	$("class").dataset.class = word;
	$("origin").textContent = originText(frame);
	$("figures").replaceChildren(...figuresOf(frame).map(([label, text, title]) => {
		const figure = element("div");

		figure.title = title ?? "";
		figure.append(element("dt", label), element("dd", text));
		return figure;
	}));
	$("configs").hidden = configs.length === 0;
	$("configs").replaceChildren(element("h3", configs.length === 1 ? "Launch configuration" : `${configs.length} launch configurations`),
		...configs.slice(0, CONFIGS_SHOWN).map(configItem));
	showDurations(frame);
	showSpread(frame);
	showLeaves(frame);
	showChildren(frame);
	$("zoom-in").disabled = frame === zoom;
	$("sandwich").hidden = frame === 0 && !choice.sandwich || frame > 0 && frame < frames.nrGroups;
	$("sandwich").textContent = choice.sandwich ? "Back to the flame graph" : "Callers and callees";
}

function showTip(event) {
	const tip = $("tip"), { frame, nr, value } = hover ?? {};

	tip.hidden = !hover || event.pointerType !== "mouse";
	if (tip.hidden)
		return;
	tip.firstElementChild.textContent = nr > 1 ? `${grouped(nr)} small frames` : textOf(frame);
	const sum = nr > 1 ? value : sumOf(frame), gpu = /^\[(GPU\d+)_/.exec(nameOf(frame))?.[1];
	tip.lastElementChild.textContent = [weightText(choice.weight, sum), `${percentText(BigInt(Math.round(Number(sum))), sumOf(0))} of all`,
		...(nr > 1 ? [`widest: ${labelOf(frame)}`] : [CLASS_LABELS[classOf(frame)], gpu ?? "",
			profile.diff ? `${changeText(frame)} against ${profile.diff[0]}` : ""])].filter((text) => text).join(" · ");
	placeTip(tip, event);
}

function placeTip(tip, event) {
	const left = event.clientX + 14, top = event.clientY + 18;

	tip.style.left = `${Math.max(4, Math.min(left, innerWidth - tip.offsetWidth - 8))}px`;
	tip.style.top = `${top + tip.offsetHeight > innerHeight - 8 ? event.clientY - tip.offsetHeight - 10 : top}px`;
}
