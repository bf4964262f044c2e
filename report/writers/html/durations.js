// Histograms of durations: 4 buckets from each power of 2 to the next. A percentile is a bucket, and never more precise.

const BUCKETS = 252;

const bucketFirst = (bucket) => bucket < 4 ? bucket : (4 + bucket % 4) * 2 ** (Math.floor(bucket / 4) - 1);

// For each leaf its bins, as the writer left them: leaf i has those from first[i] on. known 0: the histogram is not known.
function decodeDurations(reader, leaves) {
	const numbers = reader.small(leaves), known = numbers.map((number) => (number > 0 ? 1 : 0)), first = new Int32Array(leaves + 1);

	numbers.forEach((number, leaf) => (first[leaf + 1] = first[leaf] + Math.max(0, number - 1)));
	const bucket = reader.small(first[leaves]), count = reader.numbers(first[leaves]);
	for (let i = 0, last = 0; i < bucket.length; i++)
		bucket[i] = last += unzigzagSmall(bucket[i]);
	return { known, first, bucket, count };
}

// Parts of a kernel have no durations of their own.
const PART_OF_KERNEL = /^\[(moves data|waits for .*|not split)\]$/;

function isPartOfKernel(frame) {
	for (let at = frame; at > 0; at = frames.parent[at])
		if (PART_OF_KERNEL.test(nameOf(at)))
			return true;
	return false;
}

// Adds a leaf's durations to counts, one for each bucket; false: they are not known.
function addDurations(counts, leaf) {
	const { known, first, bucket, count } = profile.durations;

	for (let i = first[leaf]; i < first[leaf + 1]; i++)
		counts[bucket[i]] += count[i];
	return known[leaf] === 1;
}

// All durations in a frame and below it, by bucket. null: some are not known, or there are none.
function durationsOf(frame) {
	if (!profile.durations || isPartOfKernel(frame))
		return null;
	const { sums } = leafSums(frame, "duration"), counts = sums.subarray(0, BUCKETS);

	if (sums[BUCKETS] > 0)
		return null;
	return counts.some((count) => count > 0) ? counts : null;
}

// The bucket with the duration that a part of all are not longer than.
function percentileOf(counts, perMille) {
	const rank = Math.ceil(counts.reduce((sum, count) => sum + count, 0) * perMille / 1000);
	let bucket = 0, below = counts[0];

	while (below < rank && bucket < BUCKETS - 1)
		below += counts[++bucket];
	return bucket;
}

// What a part of all durations is not longer than: a bucket's end, or the longest of all if that is less and known.
const mostWithin = (counts, perMille, extremes) => Math.min(bucketFirst(percentileOf(counts, perMille) + 1), extremes?.max ?? Infinity);

const rangeText = (bucket) => `${timeText(bucketFirst(bucket))} to ${timeText(bucketFirst(bucket + 1))}`;

// A bar for each bucket from the first to the last one that has durations; rare ones stay visible.
function durationBars(counts, label) {
	const bars = $("bars").cloneNode(), most = counts.reduce((a, b) => Math.max(a, b));
	const from = counts.findIndex((count) => count > 0), end = counts.findLastIndex((count) => count > 0) + 1;

	bars.removeAttribute("id");
	bars.removeAttribute("aria-hidden");
	bars.setAttribute("role", "img");
	bars.setAttribute("aria-label", label);
	bars.setAttribute("viewBox", `0 0 ${Math.max(8, end - from) * 4} 40`);
	for (let bucket = from; bucket < end; bucket++) {
		const bar = document.createElementNS(bars.namespaceURI, "rect"), title = document.createElementNS(bars.namespaceURI, "title");
		const height = counts[bucket] && 2 + 38 * counts[bucket] / most;

		bar.setAttribute("x", (bucket - from) * 4);
		bar.setAttribute("y", 40 - height);
		bar.setAttribute("width", 3.4);
		bar.setAttribute("height", height);
		title.textContent = `${rangeText(bucket)}: ${grouped(counts[bucket])}`;
		bar.append(title);
		bars.append(bar);
	}
	return bars;
}

function showDurations(frame) {
	const counts = profile.diff || tree.isSketch ? null : durationsOf(frame);

	$("durations").hidden = !counts;
	if (!counts)
		return;
	const extremes = extremesOf(configsOf(nameOf(frame)));
	const lines = [["half within", 500], ["90 % within", 900], ["99 % within", 990]].map(([words, perMille]) =>
		`${words} ${timeText(mostWithin(counts, perMille, extremes))}`);
	const from = Math.max(bucketFirst(counts.findIndex((count) => count > 0)), extremes?.min ?? 0), end = mostWithin(counts, 1000, extremes);
	const range = `${timeText(from)} to ${timeText(end)}`, number = grouped(counts.reduce((sum, count) => sum + count, 0));

	$("durations").replaceChildren(element("h3", `${number} durations, ${range}`),
		durationBars(counts, `Histogram of ${number} durations, ${range}: ${lines.join(", ")}`),
		element("p", lines.join(", ")));
}
