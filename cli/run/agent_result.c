#include "agent_result.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "control_client.h"

#include "base/clock.h"
#include "base/log.h"
#include "proto/absence.h"
#include "report/model/report_summary.h"

#define WAIT_MS     2000
#define LOOK_MS     20
#define NUMBER_SIZE 32
#define PART_SIZE   192

uint32_t agent_result_make_run(void)
{
	uint32_t run = 0;

	if (getrandom(&run, sizeof(run), GRND_NONBLOCK) != sizeof(run))
		run = (uint32_t)getpid();
	return run ? run : 1;
}

static int await(const char *path, uint32_t run, struct control_result *result)
{
	const uint64_t until_ms = clock_now_ms() + WAIT_MS;
	int r;

	for (;;) {
		r = control_client_ask_result(path, run, result);
		if (r || result->nr_processes + result->nr_absent == 0 || result->is_stored ||
		    clock_now_ms() >= until_ms)
			return r;
		poll(NULL, 0, LOOK_MS);
	}
}

static void say_failure(const char *path, int error)
{
	if (error == -ETIMEDOUT)
		log_warning("%s: the agent does not answer (stopped, or overloaded): whether this "
			    "job was profiled is not known",
			    path);
	else if (error == -EPROTO)
		log_warning("%s: the agent is of another version, or not for this user: whether "
			    "this job was profiled is not known",
			    path);
	else
		log_warning(
			"%s: the agent has ended (%s): the end of this job may be missing in the "
			"profile",
			path, strerror(-error));
}

static void say_recorded(const struct control_result *result)
{
	char launches[NUMBER_SIZE], records[NUMBER_SIZE], lost[NUMBER_SIZE];
	const char *where = *result->place ? "; the profile is " : "";
	char unclean[PART_SIZE] = "", taken[PART_SIZE] = "";

	if (result->unclean)
		snprintf(unclean, sizeof(unclean),
			 "%sINCOMPLETE: %" PRIu64 " ended without a goodbye (killed, or by _exit), "
			 "so up to 0.5 s before the end may be missing",
			 result->lost ? "; " : "", result->unclean);

	if (result->taken_over)
		snprintf(taken, sizeof(taken),
			 "; %" PRIu64
			 " went over from an earlier agent: processes that ended under "
			 "that one, and host samples that died with it, are not counted here",
			 result->taken_over);

	if (result->nr_running)
		log_warning("%u of %u processes have not ended: what they do from now on goes into "
			    "the profile, too%s%s",
			    result->nr_running, result->nr_processes, where, result->place);
	else if (!result->is_stored)
		log_warning("the aggregator has not confirmed all that was recorded of this job: "
			    "the end may be missing in the profile%s%s",
			    where, result->place);
	else
		log_write(result->lost || result->unclean ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE,
			  "%s launches and %s GPU records of %u process%s are stored; %s%s%s%s%s%s",
			  report_summary_count(result->launches, launches),
			  report_summary_count(result->records, records), result->nr_processes,
			  result->nr_processes == 1 ? "" : "es",
			  result->lost      ? "lost "
			  : result->unclean ? ""
					    : "the agent knows of no loss",
			  result->lost ? report_summary_count(result->lost, lost) : "", unclean,
			  taken, where, result->place);
}

void agent_result_say(const char *path, uint32_t run)
{
	struct control_result result = {0};
	int r = await(path, run, &result);
	const char *why = result.why;

	if (r) {
		say_failure(path, r);
		return;
	}
	if (absence_is_failed(why))
		why += strlen(ABSENCE_FAILED);
	if (result.nr_absent)
		log_warning("%u process%s of this job could not be profiled: %s", result.nr_absent,
			    result.nr_absent == 1 ? "" : "es", why);
	if (result.nr_processes)
		say_recorded(&result);
	else if (!result.nr_absent)
		log_warning("this job was not profiled: the agent knows of no process of it that "
			    "started CUDA (a build for the CPU alone, an environment that was "
			    "cleared, a filter of system calls that refuses connect(), another "
			    "user's agent, or one that was started again meanwhile); flamegrid "
			    "doctor says what works here");
}
