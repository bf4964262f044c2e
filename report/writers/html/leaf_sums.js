// Sums over the leaves in a frame by name, row or duration, without a pass over all of them. What that takes is made when
// it is asked for, once for what is shown.

// Whether a frame holds amounts of all time, and not of work: without work, or not explained. They have no count.
function holdsIdle(frame) {
	if (!frames.idle) {
		const { nr, parent, leafFrame, callerLeaf } = frames, { lo, hi } = profile.values.count;

		frames.idle = new Uint8Array(nr);
		for (const frameOf of callerLeaf ? [leafFrame, callerLeaf] : [leafFrame])
			for (let leaf = 0; leaf < frameOf.length; leaf++)
				if (frameOf[leaf] >= 0 && lo[leaf] === 0 && hi[leaf] === 0)
					frames.idle[frameOf[leaf]] = 1;
		for (let i = nr - 1; i > 0; i--)
			frames.idle[parent[i]] |= frames.idle[i];
	}
	return frames.idle[frame] === 1;
}

// Leaves in the order of a walk that visits a frame before its children, so that those in a frame are neighbours:
// its own are [first, below) of leaves, and those below it are [below, end).
function orderLeaves({ nr, parent }, frameOf) {
	const inside = new Int32Array(nr), first = new Int32Array(nr), below = new Int32Array(nr), end = new Int32Array(nr);

	for (const frame of frameOf)
		if (frame >= 0)
			inside[frame]++;
	below.set(inside); // as many as are its own
	for (let frame = nr - 1; frame > 0; frame--)
		inside[parent[frame]] += inside[frame];
	end[0] = below[0];
	for (let frame = 1; frame < nr; frame++) {
		first[frame] = end[parent[frame]];
		end[parent[frame]] += inside[frame];
		end[frame] = below[frame] += first[frame];
	}
	const leaves = new Int32Array(inside[0]), next = first.slice();
	for (let leaf = 0; leaf < frameOf.length; leaf++)
		if (frameOf[leaf] >= 0)
			leaves[next[frameOf[leaf]]++] = leaf;
	return { first, below, end, leaves, frameOf };
}

const BLOCK_LEAVES = 1024, SUMS_MOST = 2 ** 20;

// Sums by key of all leaves before each block of them. Those of a range are a difference, and the leaves at its two ends.
class BlockSums {
	constructor(leaves, nrKeys, add) {
		this.leaves = leaves;
		this.nrKeys = nrKeys;
		this.add = add; // adds a leaf to the sums of keys
		this.length = Math.max(BLOCK_LEAVES, Math.ceil(leaves.length * nrKeys / SUMS_MOST));
		this.before = [];
		const sums = new Float64Array(nrKeys);
		for (let at = 0; at <= leaves.length; at += this.length) {
			this.before.push(sums.slice());
			this.addRange(sums, at, Math.min(leaves.length, at + this.length));
		}
	}

	addRange(sums, from, end) {
		for (let i = from; i < end; i++)
			this.add(sums, this.leaves[i]);
	}

	// The sums of leaves [from, end).
	of(from, end) {
		const first = Math.ceil(from / this.length), last = Math.floor(end / this.length), sums = new Float64Array(this.nrKeys);

		if (first >= last) {
			this.addRange(sums, from, end);
			return sums;
		}
		for (let key = 0; key < this.nrKeys; key++)
			sums[key] = this.before[last][key] - this.before[first][key];
		this.addRange(sums, from, first * this.length);
		this.addRange(sums, last * this.length, end);
		return sums;
	}
}

function sumNames({ leaves, frameOf }) {
	const { lo, hi } = profile.values[choice.weight], { name } = frames, place = new Int32Array(profile.names.length), ids = [];

	for (const leaf of leaves)
		place[name[frameOf[leaf]]] ||= ids.push(name[frameOf[leaf]]);
	return { ids, sums: new BlockSums(leaves, ids.length, (sums, leaf) => {
		sums[place[name[frameOf[leaf]]] - 1] += lo[leaf] + hi[leaf] * PART;
	}) };
}

// The second half has the number of leaves.
function sumRows({ leaves }) {
	const { lo, hi } = profile.values[choice.weight], { leafRow } = profile, nr = profile.rows.length;

	return { sums: new BlockSums(leaves, 2 * nr, (sums, leaf) => {
		sums[leafRow[leaf]] += lo[leaf] + hi[leaf] * PART;
		sums[nr + leafRow[leaf]]++;
	}) };
}

// The last key has the number of leaves whose durations are not known.
const sumDurations = ({ leaves }) => ({ sums: new BlockSums(leaves, BUCKETS + 1, (sums, leaf) => {
	if (!addDurations(sums, leaf))
		sums[BUCKETS]++;
}) });

const MAKE_SUMS = { name: sumNames, row: sumRows, duration: sumDurations };

// The sums of the leaves in a shown frame; by: a word of MAKE_SUMS. below: without leaves that are the frame itself.
// In a sandwich, callers have leaves of their own.
function leafSums(frame, by, below = false) {
	const frameOf = frame >= frames.firstCaller ? "callerLeaf" : "leafFrame", word = `${frameOf} ${by} ${choice.weight}`;
	const order = frames.orders[frameOf] ??= orderLeaves(frames, frames[frameOf]), { ids, sums } = frames.orders[word] ??= MAKE_SUMS[by](order);

	return { ids, sums: sums.of(below ? order.below[frame] : order.first[frame], order.end[frame]) };
}
