#include "watch_writer.h"

#include <inttypes.h>

#include "report/model/report_summary.h"
#include "report/names/local_time.h"
#include "report/writers/json_text.h"
#include "report/writers/straggler/experts_text.h"
#include "report/writers/straggler/straggler_text.h"

#define TEXT_SIZE 32u
#define SAVED_LESS                                                                                 \
	1.25 /* the waits exceed what is saved by this factor: a reader sees that they differ */

const char *watch_writer_kind(enum watch_event_kind kind)
{
	static const char *const names[] = {
		[WATCH_EVENT_LATE] = "late",       [WATCH_EVENT_RECOVERED] = "recovered",
		[WATCH_EVENT_STALLED] = "stalled", [WATCH_EVENT_SLOW] = "slow",
		[WATCH_EVENT_MISSING] = "missing", [WATCH_EVENT_CAME] = "came",
	};

	return names[kind];
}

/* ---- text */

static void write_cause(FILE *out, const struct watch_finding *finding)
{
	const struct report_straggler_experts expert = {.gpu_times = finding->expert_gpu_times,
							.bytes_times = finding->expert_bytes_times};
	char text[STRAGGLER_TEXT_SIZE] = "";

	experts_text_reason(text, sizeof(text), &expert);
	if (*text)
		fprintf(out, "; %s", text);
	if (finding->cause)
		fprintf(out, "; %s: %.0f %% of it", finding->cause,
			straggler_text_percent(finding->cause_share));
}

static void write_step(FILE *out, const struct watch_finding *finding)
{
	const struct watch_step *step = &finding->step;
	char without[TEXT_SIZE], now[TEXT_SIZE];

	if (!step->without_ns)
		return;
	report_summary_time(step->now_ns, now);
	if (step->is_least) {
		if (step->without_ns >= step->now_ns)
			return;
		report_summary_time(step->now_ns - step->without_ns, without);
		fprintf(out, "; without it up to %s less of %s a %s", without, now,
			step->collectives ? "step" : "collective");
		return;
	}
	report_summary_time(step->without_ns, without);
	if (step->collectives > 1)
		fprintf(out,
			"; without it a step of %" PRIu32 " collectives takes %s instead of %s",
			step->collectives, without, now);
	else if (step->collectives)
		fprintf(out, "; without it a step takes %s instead of %s", without, now);
	else
		fprintf(out, "; without it a collective of %s comes each %s instead of %s",
			finding->communicator, without, now);
	/* The others wait for the late one from when they come, and each would wait for the last of them. */
	const double saved = 1 - (double)step->without_ns / (double)step->now_ns;
	if (finding->share > SAVED_LESS * saved)
		fputs(", as the others also wait for one another", out);
}

/* Such a call may return before its collective is over. */
static void write_host(FILE *out, const struct watch_finding *finding)
{
	if (finding->by_host)
		fputs("; by the calls' own time on the host", out);
}

void watch_writer_text(FILE *out, const struct watch_event *event)
{
	const struct watch_finding *finding = &event->finding;
	char since[LOCAL_TIME_SIZE], duration[TEXT_SIZE];

	local_time_text(event->since_ns, "%T", since);
	switch (event->kind) {
	case WATCH_EVENT_LATE:
		fprintf(out, "late since %s: %s: %s", since, finding->name, finding->text);
		write_host(out, finding);
		write_cause(out, finding);
		write_step(out, finding);
		break;
	case WATCH_EVENT_RECOVERED:
		report_summary_time(event->until_ns - event->since_ns, duration);
		if (finding->is_link)
			fprintf(out, "no longer slow: %s, which was slow for %s, since %s",
				finding->name, duration, since);
		else
			fprintf(out, "no longer late: %s, which was late for %s, since %s",
				finding->name, duration, since);
		break;
	case WATCH_EVENT_SLOW:
		fprintf(out, "slow since %s: %s: they %s", since, finding->name, finding->text);
		break;
	case WATCH_EVENT_STALLED:
		fprintf(out, "stalled at %s: %s: %s", since, finding->name, finding->text);
		write_host(out, finding);
		write_cause(out, finding);
		break;
	case WATCH_EVENT_MISSING:
		fprintf(out, "missing since %s: %s: %s, for %s", since, finding->name,
			finding->text, report_summary_time(finding->waited_ns, duration));
		break;
	case WATCH_EVENT_CAME:
		fprintf(out,
			"no longer missing: %s, for which %" PRIu32 " rank%s waited %s, since %s",
			finding->name, event->nr_waiting, event->nr_waiting == 1 ? "" : "s",
			report_summary_time(finding->waited_ns, duration), since);
		break;
	}
}

/* ---- JSON */

/* 0: not known. */
static void write_times(FILE *out, const char *name, double times)
{
	if (times > 0)
		fprintf(out, "\"%s\":%.4f,", name, times);
	else
		fprintf(out, "\"%s\":null,", name);
}

void watch_writer_json(FILE *out, const struct watch_event *event)
{
	const struct watch_finding *finding = &event->finding;

	json_text_schema(out);
	json_text_member(out, "event", watch_writer_kind(event->kind));
	json_text_time(out, "time", event->time_ns);
	json_text_time(out, "since", event->since_ns);
	if (event->kind == WATCH_EVENT_RECOVERED)
		json_text_time(out, "until", event->until_ns);
	else
		fprintf(out, "\"until\":null,");
	json_text_member(out, "name", finding->name);
	fprintf(out, "\"group\":%s,\"ranks\":[", finding->is_group ? "true" : "false");
	for (uint32_t i = 0; i < finding->nr_ranks; i++)
		fprintf(out, "%s%" PRId32, i ? "," : "", finding->ranks[i]);
	fprintf(out, "],\"stage\":");
	if (finding->has_stage)
		fprintf(out, "%" PRId32 ",", finding->stage);
	else
		fprintf(out, "null,");
	if (finding->ground)
		json_text_member(out, "ground", straggler_text_ground(finding->ground));
	else
		fprintf(out, "\"ground\":null,");
	json_text_member(out, "communicator", finding->communicator);
	fprintf(out,
		"\"collectives\":%" PRIu64 ",\"last\":%" PRIu64 ",\"waited_ns\":%" PRIu64
		",\"share\":%.6f,",
		finding->used, finding->last, finding->waited_ns, finding->share);
	if (finding->step.without_ns && finding->step.is_least)
		fprintf(out,
			"\"step_collectives\":%" PRIu32 ",\"step_ns\":%" PRIu64
			",\"step_without_ns\":null,",
			finding->step.collectives, finding->step.now_ns);
	else if (finding->step.without_ns)
		fprintf(out,
			"\"step_collectives\":%" PRIu32 ",\"step_ns\":%" PRIu64
			",\"step_without_ns\":%" PRIu64 ",",
			finding->step.collectives, finding->step.now_ns, finding->step.without_ns);
	else
		fprintf(out, "\"step_collectives\":null,\"step_ns\":null,"
			     "\"step_without_ns\":null,");
	fprintf(out, "\"waiting\":%" PRIu32 ",\"cause\":", event->nr_waiting);
	if (finding->cause)
		json_text_write(out, finding->cause);
	else
		fprintf(out, "null");
	if (finding->cause)
		fprintf(out, ",\"cause_share\":%.6f,", finding->cause_share);
	else
		fprintf(out, ",\"cause_share\":null,");
	write_times(out, "expert_gpu_times", finding->expert_gpu_times);
	write_times(out, "expert_bytes_times", finding->expert_bytes_times);
	fprintf(out, "\"text\":");
	json_text_write(out, finding->text);
	fprintf(out, "}\n");
}
