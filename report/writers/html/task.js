// Long work in slices, so that the page answers meanwhile. A new task takes the place of the one that runs.

const FIRST_SLICE_MS = 60, SLICE_MS = 30;
let task = null;

// Runs a generator to its end, and then calls done with its result. What ends within the first slice ends at once;
// a first slice of 0 ms lets the page draw before.
function runTask(generator, done, firstSlice = FIRST_SLICE_MS) {
	const step = (slice) => {
		const until = performance.now() + slice;

		while (task === generator) {
			const { done: ended, value } = generator.next();

			if (ended) {
				task = null;
				showWorking(false);
				done(value);
			} else if (performance.now() > until) {
				showWorking(true);
				setTimeout(step, 0, SLICE_MS);
				return;
			}
		}
	};

	task = generator;
	if (firstSlice > 0)
		step(firstSlice);
	else
		afterFrame(() => step(SLICE_MS));
}

// Runs what may wait until the next frame is painted. A hidden page has no frames.
function afterFrame(run) {
	if (document.hidden)
		setTimeout(run);
	else
		requestAnimationFrame(() => setTimeout(run));
}

function showWorking(on) {
	$("working").hidden = !on;
	$("stage").setAttribute("aria-busy", String(on));
}
