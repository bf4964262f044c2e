#include "plane_refusal.h"

#include <stddef.h>

#include "proto/kernel_refusal.h"

const char *plane_refusal_of(const struct report_tree *tree, enum report_plane plane)
{
	for (uint32_t i = 0; i < tree->nr_notices && plane == REPORT_PLANE_STALLS; i++) {
		const char *text = tree->strings[tree->notices[i].text];

		if (kernel_refusal_is(text))
			return text;
	}
	return NULL;
}
