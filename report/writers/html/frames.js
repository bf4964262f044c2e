// Frames: leaves merged by path under the chosen dimensions, and summed exactly.

const SLICE = 20000; // items between two looks at the clock

// Frames by parent and name. Frame 0 is the root, and a parent comes before its children.
class FrameTable {
	constructor(rootName, capacity, children = 512) {
		this.parent = new Int32Array(capacity);
		this.name = new Int32Array(capacity);
		this.name[0] = rootName;
		this.nr = 1;
		this.slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * children + 2)));
		this.nrSlots = 0;
	}

	push(parent, name) {
		if (this.nr === this.parent.length)
			for (const column of ["parent", "name"]) {
				const old = this[column];

				this[column] = new Int32Array(2 * old.length);
				this[column].set(old);
			}
		this.parent[this.nr] = parent;
		this.name[this.nr] = name;
		return this.nr++;
	}

	// The frame of this name under a parent; it is made if child() did not make it before.
	child(parent, name) {
		if (2 * this.nrSlots >= this.slots.length)
			this.grow();
		const at = this.find(parent, name);

		if (this.slots[at] === 0) {
			this.slots[at] = this.push(parent, name);
			this.nrSlots++;
		}
		return this.slots[at];
	}

	find(parent, name) {
		const mask = this.slots.length - 1;
		let at = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(name, 0x85ebca6b)) >>> 0;

		for (at = (at ^ at >>> 15) & mask; this.slots[at] !== 0; at = (at + 1) & mask)
			if (this.parent[this.slots[at]] === parent && this.name[this.slots[at]] === name)
				break;
		return at;
	}

	grow() {
		const old = this.slots;

		this.slots = new Int32Array(2 * old.length);
		for (const frame of old)
			if (frame !== 0)
				this.slots[this.find(this.parent[frame], this.name[frame])] = frame;
	}
}

// A row's frame for the chosen dimensions; -1: the filters leave it out.
function groupsOfRows(profile, table, { split, only }, mixed) {
	return Int32Array.from(profile.rows, (row) => {
		if (DIMENSIONS.some((dimension) => dimension in only && String(row[dimension]) !== only[dimension]))
			return -1;
		return DIMENSIONS.filter((dimension) => dimension === "plane" ? mixed : split.has(dimension)).reduce((frame, dimension) =>
			table.child(frame, internName(profile, dimensionName(dimension, row[dimension]))), 0);
	});
}

// Leaves group by group, so that one table of frames by node serves all groups in turn.
function leavesByGroup(profile, groupOfRow, nrGroups) {
	const first = new Int32Array(nrGroups + 1);

	for (let leaf = 0; leaf < profile.leaves; leaf++)
		first[groupOfRow[profile.leafRow[leaf]] + 1]++;
	const order = new Int32Array(profile.leaves - first[0]);
	first[0] = 0;
	for (let group = 0; group < nrGroups; group++)
		first[group + 1] += first[group];
	for (let leaf = 0; leaf < profile.leaves; leaf++)
		if (groupOfRow[profile.leafRow[leaf]] >= 0)
			order[first[groupOfRow[profile.leafRow[leaf]]]++] = leaf;
	return order;
}

// A sketch has what can be seen at first: the nodes with so much of all, whatever their group.
const SKETCH_FROM = 200000; // nodes and leaves
const SKETCH_PART = 1 / 4096;

// Each node's nearest node, itself or one above, that a sketch has.
function sketchedNodes(profile, groupOfRow, weight) {
	const { nodes, nodeParent, leafNode, leafRow } = profile, { lo, hi } = profile.values[weight];
	const value = new Float64Array(nodes), nearest = new Int32Array(nodes);

	for (let leaf = 0; leaf < profile.leaves; leaf++)
		if (groupOfRow[leafRow[leaf]] >= 0)
			value[leafNode[leaf]] += lo[leaf] + hi[leaf] * PART;
	for (let node = nodes - 1; node > 0; node--)
		value[nodeParent[node]] += value[node];
	for (let node = 1; node < nodes; node++)
		nearest[node] = value[node] >= SKETCH_PART * value[0] ? node : nearest[nodeParent[node]];
	return nearest;
}

// A sketch lacks small frames; their time is in the frame around them. All sums of its frames are exact.
function* mergeFrames(profile, chosen, isSketch = false) {
	const { only, join, user } = chosen;
	// Several planes stand side by side, each under a frame of its own: their sum means nothing.
	const mixed = profile.shownPlanes.length > 1 && !("plane" in only);
	const root = mixed ? internName(profile, "all planes, side by side") : profile.nodeName[0];
	const table = isSketch ? new FrameTable(root, 4096) : new FrameTable(root, profile.nodes + profile.leaves + 64, profile.leaves + 64);
	const groupOfRow = groupsOfRows(profile, table, chosen, mixed);
	const nrGroups = table.nr, nearest = isSketch ? sketchedNodes(profile, groupOfRow, chosen.weight) : null;
	const isOneGroup = groupOfRow.every((group) => group === 0);
	const order = isOneGroup ? null : leavesByGroup(profile, groupOfRow, nrGroups), nr = order?.length ?? profile.leaves;
	const leafFrame = new Int32Array(profile.leaves).fill(-1);
	const groupOfNode = new Int32Array(profile.nodes).fill(-1), frameOfNode = new Int32Array(profile.nodes);
	const { nodeParent, nodeName, leafNode, leafName, leafRow, frameworkOf } = profile;
	const missing = [];
	const joins = join && profile.shownPlanes.includes("stalls"); // where kernels are frames

	for (let i = 0; i < nr; i++) {
		const leaf = order ? order[i] : i, group = groupOfRow[leafRow[leaf]];
		let node = nearest ? nearest[leafNode[leaf]] : leafNode[leaf];
		const isWhole = node === leafNode[leaf];

		for (; node !== 0 && groupOfNode[node] !== group; node = nodeParent[node])
			missing.push(node);
		let frame = node === 0 ? group : frameOfNode[node];
		while (missing.length) {
			node = missing.pop();
			const id = joins ? joinedName(profile, nodeName[node]) : nodeName[node], framework = user ? frameworkOf[id] : 0;

			// Neighbours of one framework are one, and so are equal frames below it.
			if (!user)
				frame = joins ? table.child(frame, id) : table.push(frame, id);
			else if (!framework || table.name[frame] !== framework)
				frame = table.child(frame, framework || id);
			groupOfNode[node] = group;
			frameOfNode[node] = frame;
		}
		leafFrame[leaf] = isWhole ? table.child(frame, join ? joinedName(profile, leafName[leaf]) : leafName[leaf]) : frame;
		if (i % SLICE === 0)
			yield;
	}
	return { parent: table.parent.subarray(0, table.nr), name: table.name.subarray(0, table.nr), nrGroups, nr: table.nr,
		leafFrame, isSketch, orders: {}, sums: {}, before: {}, center: 0, firstCaller: table.nr };
}

function joinedName(profile, id) {
	if (profile.joined[id] === undefined) {
		const name = profile.names[id], joined = name.replace(/^\[GPU[^_\]]+_/, "[GPU_");

		profile.joined[id] = joined === name ? id : internName(profile, joined);
		profile.classes[profile.joined[id]] ??= classOfId(profile, id);
	}
	return profile.joined[id];
}

// Sums of a weight, made when they are asked for.
const sumsOf = (frames, weight) => frames.sums[weight] ??= sumFrames(profile.values[weight], frames);
const beforeOf = (frames, weight) => frames.before[weight] ??= sumFrames(profile.before[weight], frames);

// In a sandwich, callers have leaves of their own, and the root has those of the callees.
function sumFrames(values, frames) {
	const { parent, leafFrame, callerLeaf, firstCaller } = frames;
	const lo = new Float64Array(parent.length), hi = new Float64Array(parent.length);

	for (const place of callerLeaf ? [leafFrame, callerLeaf] : [leafFrame])
		for (let leaf = 0; leaf < place.length; leaf++) {
			const frame = place[leaf];

			if (frame < 0)
				continue;
			lo[frame] += values.lo[leaf];
			hi[frame] += values.hi[leaf];
		}
	for (let frame = parent.length - 1; frame >= 0; frame--) {
		const carry = Math.floor(lo[frame] / PART);

		hi[frame] += carry;
		lo[frame] -= carry * PART;
		if (frame > 0 && (frame < firstCaller || parent[frame] > 0)) {
			lo[parent[frame]] += lo[frame];
			hi[parent[frame]] += hi[frame];
		}
	}
	return { lo, hi };
}

const exact = (sums, frame) => BigInt(sums.hi[frame]) * BigInt(PART) + BigInt(sums.lo[frame]);

const FULL_CHANGE = 0.25;

// By how much frames have changed, as a part of what they were: more is above 0. From a quarter on it is 1, or -1.
function changesOf(frames, weight) {
	const { lo, hi } = sumsOf(frames, weight), before = beforeOf(frames, weight);
	const of = lo.map((low, i) => {
		const change = low - before.lo[i] + (hi[i] - before.hi[i]) * PART;
		const full = FULL_CHANGE * (before.lo[i] + before.hi[i] * PART);

		return Math.abs(change) < full ? change / full : Math.sign(change);
	});

	return { of, most: 1 };
}

// ---- Sandwich: what calls a function, and what it calls, over all its occurrences ----

// An occurrence below another one is a part of it, so that no time counts twice.
function* sandwichFrames(tree, id) {
	const table = new FrameTable(id, 1024), callee = new Int32Array(tree.nr).fill(-1), outermost = new Int32Array(tree.nr);

	for (let frame = 1; frame < tree.nr; frame++) {
		const parent = tree.parent[frame];

		if (callee[parent] >= 0) {
			callee[frame] = table.child(callee[parent], tree.name[frame]);
			outermost[frame] = outermost[parent];
		} else if (tree.name[frame] === id && frame >= tree.nrGroups) {
			callee[frame] = 0;
			outermost[frame] = frame;
		}
		if (frame % SLICE === 0)
			yield;
	}
	const firstCaller = table.nr, direct = new Map(); // a direct caller may have the name of a direct callee
	const callersOf = (occurrence) => {
		let caller = 0;

		for (let frame = tree.parent[occurrence]; frame > 0; frame = tree.parent[frame]) {
			const name = tree.name[frame];

			if (caller === 0 && !direct.has(name))
				direct.set(name, table.push(0, name));
			caller = caller === 0 ? direct.get(name) : table.child(caller, name);
		}
		return caller;
	};
	const leafFrame = new Int32Array(profile.leaves).fill(-1), callerLeaf = new Int32Array(profile.leaves).fill(-1);
	const known = new Map();
	for (let leaf = 0; leaf < profile.leaves; leaf++) {
		const frame = tree.leafFrame[leaf];

		if (frame < 0 || callee[frame] < 0)
			continue;
		leafFrame[leaf] = callee[frame];
		if (!known.has(outermost[frame]))
			known.set(outermost[frame], callersOf(outermost[frame]));
		callerLeaf[leaf] = known.get(outermost[frame]) || -1;
		if (leaf % SLICE === 0)
			yield;
	}
	return { parent: table.parent.subarray(0, table.nr), name: table.name.subarray(0, table.nr), nrGroups: 1, nr: table.nr,
		leafFrame, callerLeaf, firstCaller, orders: {}, sums: {}, before: {} };
}
