#include "experts_text.h"

#include <inttypes.h>

#include "report/model/report_summary.h"
#include "report/names/text_line.h"
#include "report/straggler/report_straggler_experts.h"

#define NUMBER_SIZE 32u

/* Appends a time for each step, or of the whole run. */
static void append_each_step(char *line, size_t size,
			     const struct report_straggler_experts *experts)
{
	char time[NUMBER_SIZE];

	text_line_append(line, size, "%s%s",
			 report_summary_time(experts->steps ? experts->waited_ns / experts->steps
							    : experts->waited_ns,
					     time),
			 experts->steps ? " a step" : " in all");
}

void experts_text_reason(char *line, size_t size, const struct report_straggler_experts *experts)
{
	if (experts->gpu_times > 0 && experts->bytes_times >= REPORT_STRAGGLER_EXPERTS_BYTES_MIN)
		text_line_append(line, size, "its expert took %.2f times the others' GPU time",
				 experts->gpu_times);
	else if (experts->gpu_times > 0)
		text_line_append(line, size,
				 "between exchanges its GPU computed %.2f times as long as the "
				 "others'",
				 experts->gpu_times);
}

void experts_text_append(char *line, size_t size, const struct report_straggler *straggler,
			 const struct report_straggler_experts *experts)
{
	if (experts->member == REPORT_STRAGGLER_NONE) {
		text_line_append(line, size,
				 "imbalance: of %s each time another one holds up the others, ",
				 straggler->communicators[experts->communicator].name);
		append_each_step(line, size, experts);
		text_line_append(line, size, ", %.2f %% of the time", 100 * experts->share);
		return;
	}
	experts_text_reason(line, size, experts);
	if (experts->gpu_times > 0)
		text_line_append(line, size, "; ");
	text_line_append(line, size, "the others waited ");
	append_each_step(line, size, experts);
}
