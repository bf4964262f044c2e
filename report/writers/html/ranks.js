// The tab of ranks: what each rank's GPUs did by class of work, those that differ first.

// A unit is a rank; where there is but one, a GPU. Each has the values of its classes.
function unitsOf() {
	const byRank = profile.ranks.length > 1, units = new Map();
	const unitOfRow = profile.rows.map(({ rank, host, gpu }) => {
		const key = byRank ? rank : `${host} ${gpu}`;

		if (!units.has(key))
			units.set(key, { byRank, name: byRank ? (rank < 0 ? "rank ?" : `rank ${rank}`) : `${visibleText(host)} GPU${gpu}`,
				order: byRank ? rank : gpu, gpus: new Set(), work: new Map(), all: 0 });
		units.get(key).gpus.add(`${host} ${gpu}`);
		return units.get(key);
	});

	eachLeaf("gpu", (leaf, ns) => {
		const unit = unitOfRow[profile.leafRow[leaf]], word = classOfLeaf(profile, leaf);

		unit.work.set(word, (unit.work.get(word) ?? 0) + ns);
		unit.all += ns;
	});
	return [...units.values()].filter(({ all }) => all > 0);
}

// The share of time in which a unit's GPUs were busy; -1: not known.
function busyOf(unit) {
	const devices = (profile.devices ?? []).filter(({ host, gpu }) => unit.gpus.has(`${host} ${gpu}`));
	const busy = devices.reduce((sum, { busy_ns }) => sum + busy_ns, 0), idle = devices.reduce((sum, { idle_ns }) => sum + idle_ns, 0);

	return busy + idle > 0 ? busy / (busy + idle) : -1;
}

const COMPARED = 4; // fewer have nobody who stands out

// Tells for each value whether it stands out from the others, as report/names/outlier.h says.
function standOut(values) {
	const median = medianOf(values), distances = values.map((value) => Math.abs(value - median)), mad = medianOf(distances);
	const mean = distances.reduce((sum, distance) => sum + distance, 0) / values.length;
	const zMax = profile.outliers.find(([count]) => values.length >= count)[1];
	const bound = mad > 0 ? zMax * mad / 0.6745 : 3.5 * 1.253314 * mean;

	return distances.map((distance) => values.length >= COMPARED && bound > 0 && distance > bound);
}

// A class matters if it has 0.2 % of all. A rank differs if it stands out in one, is 5 % from its median, and that is 0.5 %
// of a rank's whole time. It differs by its idle time, too, if that stands out and its share is 5 points from the median.
// why: what differs most. A rank waits less or longer because something else differs, so waiting comes last, after what
// differs without standing out.
function compareUnits(units) {
	const whole = units.reduce((sum, { all }) => sum + all, 0), words = GPU_CLASSES.filter((word) =>
		units.reduce((sum, { work }) => sum + (work.get(word) ?? 0), 0) > 0.002 * whole);
	const median = new Map(words.map((word) => [word, medianOf(units.map(({ work }) => work.get(word) ?? 0))]));
	const typical = medianOf(units.map(({ all }) => all)), busy = units.map(busyOf), isKnown = busy.every((share) => share >= 0);
	const typicalBusy = isKnown ? medianOf(busy) : -1;
	const note = (unit, change, word, text) => {
		unit.far = Math.max(unit.far, change);
		if (!unit.why || (unit.why.word === "wait") > (word === "wait") ||
			((unit.why.word === "wait") === (word === "wait") && change > unit.why.change))
			unit.why = { change, word, text };
	};

	for (const unit of units)
		Object.assign(unit, { far: 0, why: null, also: null, idles: 0 });
	for (const word of words) {
		const values = units.map(({ work }) => work.get(word) ?? 0), out = standOut(values);

		units.forEach((unit, i) => {
			const change = Math.abs(values[i] - median.get(word));

			if (!differs(values[i], median.get(word)) || change <= 0.005 * typical)
				return;
			const text = `${CLASS_LABELS[word]} ${deviationText(values[i], median.get(word))}`;
			if (out[i])
				note(unit, change, word, text);
			else if (word !== "wait" && !(unit.also?.change > change))
				unit.also = { change, word, text };
		});
	}
	const idles = isKnown ? standOut(busy) : [];
	units.forEach((unit, i) => {
		const more = typicalBusy - busy[i];

		if (!idles[i] || Math.abs(more) <= ALIKE)
			return;
		unit.idles = more;
		note(unit, Math.abs(more) * unit.all / Math.max(busy[i], ALIKE), "idle",
			`idle ${wholePercent(1 - busy[i])}, others ${wholePercent(1 - typicalBusy)}`);
	});
	for (const unit of units)
		if (unit.why?.word === "wait" && unit.also)
			unit.why = unit.also;
	return { words, median, typical, typicalBusy };
}

const wholePercent = (share) => `${(100 * share).toFixed(0)} %`;

// Numbers in a row are a range: 0–3, 5.
function rangesText(numbers) {
	const ranges = [];

	for (const number of numbers.slice().sort((a, b) => a - b)) {
		const last = ranges[ranges.length - 1];

		if (last && last[1] === number - 1)
			last[1] = number;
		else
			ranges.push([number, number]);
	}
	return ranges.map(([from, to]) => from === to ? `${from}` : `${from}–${to}`).join(", ");
}

// Red is above the median, blue below; the darker the further, from 5 to 50 %.
function shadeCell(cell, value, median) {
	const change = median > 0 ? value / median - 1 : value > 0 ? 1 : 0;

	if (Math.abs(change) <= ALIKE)
		return;
	cell.classList.add(change > 0 ? "more" : "less");
	cell.style.setProperty("--far", `${Math.min(70, 18 + 100 * Math.abs(change))}%`);
}

function heatRow(name, unit, { words, median, typical, typicalBusy }, isFolded) {
	const row = element("tr"), head = element("th", name), busy = unit ? busyOf(unit) : typicalBusy;

	head.scope = "row";
	row.append(head, ...words.map((word) => {
		const value = unit ? unit.work.get(word) ?? 0 : median.get(word), cell = element("td", timeText(value), "number");

		if (unit) {
			cell.append(element("small", deviationText(value, median.get(word))));
			if (!isFolded) // folded ranks do not differ
				shadeCell(cell, value, median.get(word));
		}
		return cell;
	}), element("td", timeText(unit ? unit.all : typical), "number"), element("td", busy < 0 ? "" : wholePercent(busy), "number"));
	if (unit?.idles) {
		row.lastElementChild.classList.add(unit.idles > 0 ? "more" : "less");
		row.lastElementChild.style.setProperty("--far", `${Math.min(70, 18 + 100 * Math.abs(unit.idles))}%`);
	}
	if (unit && !isFolded)
		row.lastElementChild.previousElementSibling.append(element("small", deviationText(unit.all, typical)));
	return row;
}

function heatHead(words, label) {
	const head = element("tr");

	head.append(...[label, ...words.map((word) => CLASS_LABELS[word]), "all GPU work", "busy"].map((text, i) => {
		const cell = element("th", text, i ? "number" : ""), word = words[i - 1];

		cell.scope = "col";
		if (word) {
			const swatch = element("i", undefined, "swatch");

			swatch.dataset.class = word;
			cell.prepend(swatch);
		}
		return cell;
	}));
	return head;
}

// All units in one picture: a column each, a row for each class, coloured as the table.
function heatStrip(units, { words, median }) {
	const strip = element("canvas", undefined, "strip"), columns = units.length, rowPx = 15, labelPx = 140;
	const width = Math.max(1, Math.min(20, Math.floor(1200 / columns))), draw = strip.getContext("2d");

	strip.width = labelPx + columns * width;
	strip.height = words.length * rowPx;
	draw.font = theme.font;
	draw.fillStyle = theme.text;
	words.forEach((word, y) => draw.fillText(CLASS_LABELS[word], 0, y * rowPx + 11, labelPx - 8));
	draw.translate(labelPx, 0);
	strip.setAttribute("role", "img");
	strip.setAttribute("aria-label", `${columns} columns by ${words.length} classes; the table below has the same values`);
	strip.title = "A column for each, a row for each class. Red: above the median; blue: below.";
	const filled = width > 3 ? width - 1 : width;
	units.forEach((unit, x) => words.forEach((word, y) => {
		const value = unit.work.get(word) ?? 0, change = median.get(word) > 0 ? value / median.get(word) - 1 : 0;

		draw.globalAlpha = 1;
		draw.fillStyle = theme.small;
		draw.fillRect(x * width, y * rowPx, filled, rowPx - 1);
		if (Math.abs(change) <= ALIKE)
			return;
		draw.globalAlpha = Math.min(1, 0.3 + 2 * Math.abs(change));
		draw.fillStyle = change > 0 ? theme.more : theme.less;
		draw.fillRect(x * width, y * rowPx, filled, rowPx - 1);
	}));
	return strip;
}

// ---- Who holds up the others: the words of report --straggler ----

function causeItem({ text, share, stack }) {
	const item = element("li", `${(100 * Math.min(share, 1)).toFixed(0)} % of it: ${visibleText(text)}`);

	item.append(element("small", visibleText(stack).replaceAll(";", " › ")));
	return item;
}

function makeVerdicts() {
	const { line, late, others } = profile.straggler, section = element("section", undefined, "verdicts"), list = element("ul", undefined, "findings");

	list.append(...late.map(({ name, more, text, causes }) => {
		const item = element("li"), reasons = element("ul");

		item.append(element("b", visibleText(more ? `${name} (${more})` : name)), element("p", visibleText(text)));
		reasons.append(...causes.map(causeItem));
		if (causes.length)
			item.append(reasons);
		return item;
	}), ...others.map((text) => element("li", visibleText(text))));
	section.append(element("h2", "Who holds up the others"), element("p", visibleText(line), "lead"));
	if (list.childElementCount)
		section.append(list);
	return section;
}

// ---- Small multiples: the classes of each rank that differs, beside the median ----

const MULTIPLES_SHOWN = 24;

function multipleRow(word, value, median, most) {
	const row = element("div", undefined, "row"), track = element("span", undefined, "track"), bar = element("i", undefined, "swatch");
	const mark = element("i", undefined, "median");

	bar.dataset.class = word;
	bar.style.width = `${100 * value / most}%`;
	mark.style.left = `${100 * median / most}%`;
	track.append(bar, mark);
	row.classList.toggle("differs", differs(value, median));
	row.title = `${CLASS_LABELS[word]}: ${timeText(value)}; the median is ${timeText(median)}`;
	row.append(element("span", CLASS_LABELS[word]), track, element("small", deviationText(value, median)));
	return row;
}

// All have one scale.
function makeMultiples(far, { words, median }) {
	const shown = far.slice(0, MULTIPLES_SHOWN), grid = element("div", undefined, "multiples");
	const most = Math.max(1, ...words.flatMap((word) => [median.get(word), ...shown.map(({ work }) => work.get(word) ?? 0)]));

	grid.append(...shown.map((unit) => {
		const figure = element("figure");

		figure.append(element("figcaption", unit.name), ...words.map((word) =>
			multipleRow(word, unit.work.get(word) ?? 0, median.get(word), most)));
		return figure;
	}));
	return [element("p", "A bar is the time of a class; the line across it is the median of all.", "hint"), grid];
}

// How many units differ.
function differingUnits() {
	const units = unitsOf();

	compareUnits(units);
	return units.filter(({ far }) => far > 0).length;
}

function makeRanks() {
	const units = unitsOf().sort((a, b) => a.order - b.order);

	if (units.length === 0)
		return [element("p", "The filters leave no GPU work.")];
	const noun = units[0].byRank ? "rank" : "GPU";
	const compared = compareUnits(units), far = units.filter((unit) => unit.far > 0).sort((a, b) => b.far - a.far);
	const alike = units.filter((unit) => unit.far === 0), table = element("table", undefined, "heat"), head = element("thead"), body = element("tbody");
	const nameAndWhy = (unit) => `${unit.name} (${unit.why.text})`;
	const few = units.length < COMPARED;
	const says = few ? `${units.length === 1 ? `1 ${noun} is` : `${units.length} ${noun}s are`} too few to tell which one stands out.` :
		far.length === 0 ? `All ${units.length} ${noun}s together: none is proven to differ from the others in a class of work${compared.typicalBusy < 0 ? "" : " or in idle time"}.` :
		`${grouped(alike.length)} alike, ${grouped(far.length)} not: ` +
		far.slice(0, 8).map(nameAndWhy).join(", ") + (far.length > 8 ? ` and ${far.length - 8} more` : "");

	head.append(heatHead(compared.words, noun));
	body.append(...(few ? units : far.slice(0, ROWS_SHOWN)).map((unit) => heatRow(unit.name, unit, compared)),
		heatRow(alike.length > 0 && !few ? `${grouped(alike.length)} alike (median)` : "median", null, compared));
	table.append(element("caption", `GPU work by ${noun} and class. A shaded cell is more than 5 % from the median; a shaded share, 5 points.`), head, body);
	const parts = [element("p", says, "lead"), heatStrip(units, compared), table];
	if (profile.straggler)
		parts.unshift(makeVerdicts());
	if (far.length > 0 && units.length > 2)
		parts.push(...makeMultiples(far, compared));
	if (alike.length > 0 && !few) {
		const fold = element("details"), list = element("table", undefined, "heat"), rows = element("tbody");

		fold.append(element("summary", `${noun}s that are alike: ${units[0].byRank ? rangesText(alike.map(({ order }) => order)) : grouped(alike.length)}`), list);
		fold.addEventListener("toggle", () => rows.childElementCount ||
			rows.append(...alike.map((unit) => heatRow(unit.name, unit, compared, true))), { once: true });
		const again = element("thead");
		again.append(heatHead(compared.words, noun));
		list.append(again, rows);
		parts.push(fold);
	}
	return parts;
}
