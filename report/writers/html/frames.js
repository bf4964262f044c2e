// Frames: leaves merged by path under the chosen dimensions, summed exactly, and laid out.

const KEY_STRIDE = 2 ** 26;

// Frame 0 is the root; a parent comes before its children; frames 1 to nrGroups - 1 stand for dimensions.
function mergeFrames(profile, split, only, join, user) {
	// Several planes stand side by side, each under a frame of its own: their sum means nothing.
	const mixed = profile.shownPlanes.length > 1 && !("plane" in only);
	const parent = [0], children = new Map();
	const name = [mixed ? internName(profile, "all planes, side by side") : profile.nodeName[0]];
	const child = (frame, id) => {
		const key = frame * KEY_STRIDE + id;
		let found = children.get(key);

		if (found === undefined) {
			found = parent.push(frame) - 1;
			name.push(id);
			children.set(key, found);
		}
		return found;
	};
	const groupOfRow = profile.rows.map((row) => {
		if (DIMENSIONS.some((dimension) => dimension in only && String(row[dimension]) !== only[dimension]))
			return -1;
		return DIMENSIONS.filter((dimension) => dimension === "plane" ? mixed : split.has(dimension)).reduce((frame, dimension) =>
			child(frame, internName(profile, dimensionName(dimension, row[dimension]))), 0);
	});
	const nrGroups = parent.length;
	const leafFrame = new Int32Array(profile.leaves).fill(-1);

	// The frame of a node below another frame. Neighbours of one framework are one, and so are equal frames below it.
	const under = (frame, node) => {
		const id = profile.nodeName[node], framework = user ? profile.frameworkOf[id] : 0;

		if (user)
			return framework && name[frame] === framework ? frame : child(frame, framework || id);
		name.push(id);
		return parent.push(frame) - 1;
	};

	placeLeaves(profile, groupOfRow, nrGroups, (leaf, group, frameOfNode) => {
		const id = join ? joinedName(profile, profile.leafName[leaf]) : profile.leafName[leaf];

		leafFrame[leaf] = child(pathFrame(profile, leaf, group, frameOfNode, under), id);
	});
	const sums = (values) => Object.fromEntries(WEIGHTS.map((weight) =>
		[weight, sumFrames(values[weight], leafFrame, parent)]));

	return { parent: Int32Array.from(parent), name: Int32Array.from(name), nrGroups, nr: parent.length, leafFrame,
		ranks: new Map(), sums: sums(profile.values), before: profile.before && sums(profile.before) };
}

// How many ranks have something of a frame. Looked for when it is asked for: a parent's number is below its children's.
function countRanks(profile, frames, frame) {
	if (!frames.ranks.has(frame)) {
		const ranks = new Set();

		frames.leafFrame.forEach((at, leaf) => {
			while (at > frame)
				at = frames.parent[at];
			if (at === frame && profile.rows[profile.leafRow[leaf]].rank >= 0)
				ranks.add(profile.rows[profile.leafRow[leaf]].rank);
		});
		frames.ranks.set(frame, ranks.size);
	}
	return frames.ranks.get(frame);
}

const FULL_CHANGE = 0.25;

// By how much frames have changed, as a part of what they were: more is above 0. From a quarter on it is 1, or -1.
function changesOf(frames, weight) {
	const { lo, hi } = frames.sums[weight], before = frames.before[weight];
	const of = lo.map((low, i) => {
		const change = low - before.lo[i] + (hi[i] - before.hi[i]) * PART;
		const full = FULL_CHANGE * (before.lo[i] + before.hi[i] * PART);

		return Math.abs(change) < full ? change / full : Math.sign(change);
	});

	return { of, most: 1 };
}

// Leaves group by group, so that one table of frames by node serves all groups in turn.
function placeLeaves(profile, groupOfRow, nrGroups, place) {
	const leavesOf = Array.from({ length: nrGroups }, () => []);

	for (let leaf = 0; leaf < profile.leaves; leaf++)
		if (groupOfRow[profile.leafRow[leaf]] >= 0)
			leavesOf[groupOfRow[profile.leafRow[leaf]]].push(leaf);
	const frameOfNode = { group: new Int32Array(profile.nodes).fill(-1), frame: new Int32Array(profile.nodes) };
	leavesOf.forEach((leaves, group) => leaves.forEach((leaf) => place(leaf, group, frameOfNode)));
}

function pathFrame(profile, leaf, group, frameOfNode, under) {
	const missing = [];
	let node = profile.leafNode[leaf];

	for (; node !== 0 && frameOfNode.group[node] !== group; node = profile.nodeParent[node])
		missing.push(node);
	let frame = node === 0 ? group : frameOfNode.frame[node];
	while (missing.length) {
		node = missing.pop();
		frame = under(frame, node);
		frameOfNode.group[node] = group;
		frameOfNode.frame[node] = frame;
	}
	return frame;
}

function joinedName(profile, id) {
	const name = profile.names[id];
	const joined = name.replace(/^\[GPU[^_\]]+_/, "[GPU_");

	return joined === name ? id : internName(profile, joined);
}

function sumFrames(values, leafFrame, parent) {
	const lo = new Float64Array(parent.length), hi = new Float64Array(parent.length);

	for (let leaf = 0; leaf < leafFrame.length; leaf++) {
		if (leafFrame[leaf] < 0)
			continue;
		lo[leafFrame[leaf]] += values.lo[leaf];
		hi[leafFrame[leaf]] += values.hi[leaf];
	}
	for (let frame = parent.length - 1; frame >= 0; frame--) {
		const carry = Math.floor(lo[frame] / PART);

		hi[frame] += carry;
		lo[frame] -= carry * PART;
		if (frame > 0) {
			lo[parent[frame]] += lo[frame];
			hi[parent[frame]] += hi[frame];
		}
	}
	return { lo, hi };
}

const exact = (sums, frame) => BigInt(sums.hi[frame]) * BigInt(PART) + BigInt(sums.lo[frame]);

// ---- Layout: widest first, dimensions in their natural order ----

const collator = new Intl.Collator("en", { numeric: true });

function layOut(frames, names, weight) {
	const { lo, hi } = frames.sums[weight];
	const value = hi.map((high, i) => high * PART + lo[i]);
	const firstChild = new Int32Array(frames.nr + 1), childList = new Int32Array(frames.nr);
	const byWidth = (a, b) => value[b] - value[a] || collator.compare(names[frames.name[a]], names[frames.name[b]]);
	const byName = (a, b) => collator.compare(names[frames.name[a]], names[frames.name[b]]);

	for (let frame = 1; frame < frames.nr; frame++)
		firstChild[frames.parent[frame] + 1]++;
	for (let frame = 0; frame < frames.nr; frame++)
		firstChild[frame + 1] += firstChild[frame];
	const next = firstChild.slice();
	for (let frame = 1; frame < frames.nr; frame++)
		childList[next[frames.parent[frame]]++] = frame;

	const layout = { value, firstChild, childList, x: new Float64Array(frames.nr), depth: new Int32Array(frames.nr),
		rows: [] };
	for (let row = [0]; row.length; ) {
		const below = [];

		layout.rows.push(Int32Array.from(row));
		for (const frame of row) {
			const list = childrenOf(layout, frame);
			let x = layout.x[frame];

			if (list.length > 1)
				list.sort(list[0] < frames.nrGroups ? byName : byWidth);
			for (const under of list) {
				if (value[under] === 0)
					continue;
				layout.x[under] = x;
				layout.depth[under] = layout.rows.length;
				x += value[under];
				below.push(under);
			}
		}
		row = below;
	}
	return layout;
}

const childrenOf = (layout, frame) => layout.childList.subarray(layout.firstChild[frame], layout.firstChild[frame + 1]);

// Position in a row of the first frame that ends after x.
function firstAfter(layout, row, x) {
	let low = 0, high = row.length;

	while (low < high) {
		const middle = (low + high) >> 1;

		if (layout.x[row[middle]] + layout.value[row[middle]] > x)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

function deepestRow(layout, from, to) {
	for (let depth = layout.rows.length - 1; depth > 0; depth--) {
		const row = layout.rows[depth];
		const at = firstAfter(layout, row, from);

		if (at < row.length && layout.x[row[at]] < to)
			return depth;
	}
	return 0;
}
