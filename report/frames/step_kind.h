/* The kind of an inference server's step, from the names that servers give: of the NVTX range around the step, of the
 * range around a graph's capture, and of the Python functions that launch. step_kind.c has the table of names, and
 * where each was read. Pure; any thread. */
#ifndef STEP_KIND_H
#define STEP_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "frame_text.h"

#define STEP_KIND_TEXT_MAX 40u /* with NUL */

enum step_kind {
	STEP_OTHER = 0, /* nothing says that it is of a step */
	STEP_PREFILL,   /* requests without a token of output yet; a part of a prompt among them */
	STEP_DECODE,    /* requests that have output; their verification, if tokens were guessed */
	STEP_MIXED,     /* both in one batch */
	STEP_PREFILL_OR_MIXED,
	STEP_IDLE,     /* a step without requests, in which a rank keeps up with the others */
	STEP_SAMPLING, /* outside of the range of its step */
	STEP_DUMMY,    /* no user's request: warming up, capturing, filling up */
	STEP_GRAPH, /* a graph that was captured for steps; of which kind this one is, is not known */
	STEP_NOT_KNOWN, /* of a step whose kind is not known */
	STEP_KINDS,
};

/* Zeroed: nothing is known. */
struct step {
	enum step_kind kind;
	enum step_kind of_graph; /* the kind of what a graph launches there */
	uint32_t batch;          /* requests of a decode, or the size of a capture; 0: not known */
	bool exact;              /* batch is the size that was captured; else it is one of many */
};

/* What the frames of a stack say, from the outside in. Zeroed: of no frame. */
struct step_evidence {
	struct step range, function;
	uint32_t captured; /* the size that a range around the capture names; 0: none */
};

/* Reads the name of a range, with its domain or without ("[NVTX]" cut off). Digits may be masked: '#' is any number,
 * '+' any above 0 (inject/nvtx/nvtx_text.h). A name that no rule has is STEP_OTHER. */
struct step step_kind_of_range(struct frame_text name);

/* Returns the size that a range around the capture of a graph names, such as "capture_16_FULL"; 0: none. */
uint32_t step_kind_captured(struct frame_text name);

/* Reads a Python function: its file's path and its qualified name, or its plain name. */
struct step step_kind_of_function(struct frame_text file, struct frame_text name);

/* Adds what is within to what is outside: the innermost that is known counts. A dummy run stays one. */
void step_kind_within(struct step_evidence *evidence, const struct step_evidence *inner);

/* Decides. capture NULL: of no capture. is_graph: a graph launched the work. The launch's range says most, then the
 * capture's, then the launch's functions. The batch is the captured one if it is known. */
struct step step_kind_decide(const struct step_evidence *launch,
			     const struct step_evidence *capture, bool is_graph);

/* Writes "[step] prefill", "[step] decode 16" (captured for 16), "[step] decode 9-16" (so many requests). */
void step_kind_text(const struct step *step, char text[static STEP_KIND_TEXT_MAX]);

#endif
