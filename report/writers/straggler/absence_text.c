#include "absence_text.h"

#include <inttypes.h>

#include "report/model/report_summary.h"
#include "report/names/local_time.h"
#include "report/names/text_line.h"

#define NUMBER_SIZE 32u

void absence_text_collective(char *line, size_t size, const struct communicator_names *names,
			     const struct straggler_absence *absence)
{
	text_line_append(line, size, "%" PRIu64 " (%s, %s)", absence->sequence,
			 collective_function_name(absence->function),
			 communicator_names_of(names, absence->key));
	if (absence->waits_on)
		text_line_append(line, size, ", because of a wait in one of %s",
				 communicator_names_of(names, absence->waits_on));
}

static void append_end(char *line, size_t size, const struct report_straggler_absence *missing)
{
	const bool one = missing->absence->nr_absent == 1;
	char time[LOCAL_TIME_SIZE];

	if (missing->ended_ns)
		text_line_append(line, size, "; %s process%s ended at %s",
				 straggler_absences_several(missing->absence) ? "their" : "its",
				 one ? "" : "es",
				 local_time_text(missing->ended_ns, "%F %T", time));
	else if (one && !missing->absence->absent[0].process)
		text_line_append(line, size, "; it is not in the profile");
}

void absence_text_append(char *line, size_t size, const struct report_straggler *straggler,
			 const struct report_straggler_absence *missing)
{
	const struct straggler_absence *absence = missing->absence;
	const bool waits = straggler->is_running && !absence->is_over;
	char time[NUMBER_SIZE];

	text_line_append(line, size,
			 absence->has_fallen ? " never came to, or died in, collective "
					     : " never came to collective ");
	absence_text_collective(line, size, straggler->names, absence);
	text_line_append(line, size, "; %" PRIu32 " rank%s %s for %s", absence->nr_waiting,
			 absence->nr_waiting == 1 ? "" : "s",
			 !waits                     ? "waited"
			 : absence->nr_waiting == 1 ? "waits"
						    : "wait",
			 straggler_absences_several(absence) ? "them" : "it");
	if (absence->waited_ns)
		text_line_append(line, size, "%s%s", waits ? ", for " : " ",
				 report_summary_time(absence->waited_ns, time));
	if (!waits)
		text_line_append(line, size, "%s until %s end", absence->waited_ns ? "," : "",
				 absence->nr_waiting == 1 ? "its" : "their");
	append_end(line, size, missing);
}
