#include "report_dimension.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const words_of[REPORT_DIMENSIONS] = {"host",   "rank",   "gpu", "context",
							"stream", "thread", "job", "step-kind"};

/* Marks values that have a text. A context or stream without a text has its id. Ids above CUPTI's highest were invented
 * by a job, and count as one. */
#define CALLED (1u << 31)

/* Marks host threads. No id, GPU's index or text has so high a number. */
#define NO_STREAM UINT32_MAX
#define NO_GPU    (UINT32_MAX - 1)

static bool take_word(struct report_by *by, const char *word, size_t length)
{
	for (uint32_t i = 0; i < REPORT_DIMENSIONS; i++) {
		if (strlen(words_of[i]) != length || strncmp(words_of[i], word, length) != 0)
			continue;
		for (uint32_t j = 0; j < by->nr_dimensions; j++)
			if (by->dimensions[j] == (enum report_dimension)i)
				return false;
		by->dimensions[by->nr_dimensions++] = (enum report_dimension)i;
		return true;
	}
	return false;
}

int report_by_parse(const char *words, struct report_by *by)
{
	*by = (struct report_by){0};
	while (*words) {
		size_t length = strcspn(words, ",");

		if (!take_word(by, words, length) || strcmp(words + length, ",") == 0) {
			*by = (struct report_by){0};
			return -EINVAL;
		}
		words += length + (words[length] == ',');
	}
	return 0;
}

const char *report_dimension_word(enum report_dimension dimension)
{
	return words_of[dimension];
}

static uint32_t bounded(uint32_t id)
{
	return id < CALLED ? id : CALLED - 1;
}

uint32_t report_dimension_value(const struct report_leaf *leaf, enum report_dimension dimension)
{
	switch (dimension) {
	case REPORT_BY_HOST:
		return leaf->host;
	case REPORT_BY_RANK:
		return (uint32_t)leaf->rank;
	case REPORT_BY_GPU:
		return report_kind_has_gpu(leaf->kind) ? (uint32_t)leaf->gpu : NO_GPU;
	case REPORT_BY_CONTEXT:
		if (!report_leaf_has_stream(leaf))
			return NO_STREAM;
		return leaf->context ? CALLED | leaf->context : bounded(leaf->context_id);
	case REPORT_BY_JOB:
		return leaf->job;
	case REPORT_BY_STEP:
		return leaf->step;
	case REPORT_BY_STREAM:
		if (!report_leaf_has_stream(leaf))
			return NO_STREAM;
		return leaf->stream ? CALLED | leaf->stream : bounded(leaf->stream_id);
	default:
		return leaf->tid;
	}
}

const char *report_dimension_frame(const struct report_tree *tree, enum report_dimension dimension,
				   uint32_t value, char *text, size_t size)
{
	if (dimension == REPORT_BY_HOST)
		return tree->strings[value];
	if (dimension == REPORT_BY_JOB)
		return value ? tree->strings[value] : "job?";
	if (dimension == REPORT_BY_STEP)
		return value ? tree->strings[value] : "[step] other";
	if (dimension == REPORT_BY_RANK && (int32_t)value == REPORT_RANK_NONE)
		return "rank?";
	if (dimension == REPORT_BY_GPU && (int32_t)value == REPORT_GPU_NONE)
		return "GPU?";
	if (dimension == REPORT_BY_GPU && value == NO_GPU)
		return "no GPU";
	if (dimension == REPORT_BY_CONTEXT && value == NO_STREAM)
		return "no context";
	if (dimension == REPORT_BY_STREAM && value == NO_STREAM)
		return "no stream";
	if ((dimension == REPORT_BY_CONTEXT || dimension == REPORT_BY_STREAM) && (value & CALLED))
		return tree->strings[value & ~CALLED];
	if (dimension == REPORT_BY_THREAD && value == 0)
		return "thread?";
	snprintf(text, size, "%s%" PRIu32, dimension == REPORT_BY_GPU ? "GPU" : words_of[dimension],
		 value);
	return text;
}
