// Layout: where each frame is in its row.

const collator = new Intl.Collator("en", { numeric: true });

// Each name's place among all names that frames have.
function nameRanks(frames, names) {
	const used = Array.from(new Set(frames.name)).sort((a, b) => collator.compare(names[a], names[b]));
	const ranks = new Int32Array(names.length);

	used.forEach((id, i) => (ranks[id] = i));
	return ranks;
}

function childrenInOrder(frames) {
	const firstChild = new Int32Array(frames.nr + 1), childList = new Int32Array(frames.nr);

	for (let frame = 1; frame < frames.nr; frame++)
		firstChild[frames.parent[frame] + 1]++;
	for (let frame = 0; frame < frames.nr; frame++)
		firstChild[frame + 1] += firstChild[frame];
	const next = firstChild.slice();
	for (let frame = 1; frame < frames.nr; frame++)
		childList[next[frames.parent[frame]]++] = frame;
	return { firstChild, childList };
}

// Most lists are short: sorting those in place costs no call.
function sortList(list, before) {
	if (list.length > 16) {
		list.sort(before);
		return;
	}
	for (let i = 1; i < list.length; i++) {
		const frame = list[i];
		let at = i;

		for (; at > 0 && before(list[at - 1], frame) > 0; at--)
			list[at] = list[at - 1];
		list[at] = frame;
	}
}

// Widest first, or by name; dimensions stand in their natural order, and callers beside callees.
function* layOut(frames, names, weight, byName) {
	const { lo, hi } = sumsOf(frames, weight);
	const value = new Float64Array(frames.nr);

	for (let i = 0; i < frames.nr; i++)
		value[i] = hi[i] * PART + lo[i];
	yield;
	const layout = { value, ...childrenInOrder(frames), x: new Float64Array(frames.nr), depth: new Int32Array(frames.nr) };
	const ranks = byName ? nameRanks(frames, names) : null;
	const byText = (a, b) => names[frames.name[a]] < names[frames.name[b]] ? -1 : 1;
	const wider = byName ? (a, b) => ranks[frames.name[a]] - ranks[frames.name[b]] : (a, b) => value[b] - value[a] || byText(a, b);
	const natural = (a, b) => collator.compare(names[frames.name[a]], names[frames.name[b]]);

	yield;
	for (let frame = 0; frame < frames.nr; frame++) {
		if (layout.firstChild[frame + 1] - layout.firstChild[frame] > 1) {
			const list = childrenOf(layout, frame);

			sortList(list, list[0] > 0 && list[0] < frames.nrGroups ? natural : wider);
		}
		if (frame % SLICE === 0)
			yield;
	}
	const callers = frames.callerLeaf ? (yield* layOutRows(frames, layout, true)).slice(1).reverse() : [];
	const rows = [...callers, ...yield* layOutRows(frames, layout, false)];

	layout.center = callers.length;
	layout.rows = rows.map(({ order }) => order);
	layout.left = rows.map(({ left }) => left);
	layout.right = rows.map(({ right }) => right);
	if (callers.length)
		layout.rows.forEach((row, depth) => row.forEach((frame) => (layout.depth[frame] = depth)));
	return layout;
}

// The rows below the root, or those of its callers. A row's frames and edges stand beside each other: drawing looks for
// them in order, and would read them at random else.
function* layOutRows(frames, layout, callers) {
	const { value, x, depth, firstChild, childList } = layout;
	const order = new Int32Array(frames.nr), left = new Float64Array(frames.nr), right = new Float64Array(frames.nr), rows = [];

	right[0] = value[0];
	for (let begin = 0, end = 1; begin < end; ) {
		const rowEnd = end;

		for (let i = begin; i < rowEnd; i++) {
			const frame = order[i];
			let edge = left[i];

			for (let at = firstChild[frame]; at < firstChild[frame + 1]; at++) {
				const child = childList[at], width = value[child];

				if (width === 0 || (frame === 0 && (child >= frames.firstCaller) !== callers))
					continue;
				x[child] = left[end] = edge;
				right[end] = edge += width;
				depth[child] = rows.length + 1;
				order[end++] = child;
			}
			if (i % SLICE === 0)
				yield;
		}
		rows.push({ order: order.subarray(begin, rowEnd), left: left.subarray(begin, rowEnd), right: right.subarray(begin, rowEnd) });
		begin = rowEnd;
	}
	return rows;
}

const childrenOf = (layout, frame) => layout.childList.subarray(layout.firstChild[frame], layout.firstChild[frame + 1]);

// The first index from low on whose number is above x, in numbers that grow. It is looked for near low first.
function firstAbove(numbers, low, x) {
	let step = 1, high = low;

	while (high < numbers.length && numbers[high] <= x) {
		low = high + 1;
		high += step;
		step *= 2;
	}
	high = Math.min(high, numbers.length);
	while (low < high) {
		const middle = (low + high) >> 1;

		if (numbers[middle] > x)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

// Position in a row of the first frame that ends after x.
const firstAfter = (layout, depth, x) => firstAbove(layout.right[depth], 0, x);

function rowIsUsed(layout, depth, from, to) {
	const at = firstAfter(layout, depth, from);

	return at < layout.rows[depth].length && layout.left[depth][at] < to;
}

function deepestRow(layout, from, to) {
	let depth = layout.rows.length - 1;

	while (depth > layout.center && !rowIsUsed(layout, depth, from, to))
		depth--;
	return depth;
}

// Of a sandwich: the uppermost row with callers; else the root's.
function highestRow(layout, from, to) {
	let depth = 0;

	while (depth < layout.center && !rowIsUsed(layout, depth, from, to))
		depth++;
	return depth;
}
