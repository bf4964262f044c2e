#include "window_schedule.h"

void window_schedule_command(struct window_schedule *schedule,
			     const struct record_ring_command *command)
{
	schedule->command = *command;
}

void window_schedule_range(struct window_schedule *schedule, bool open)
{
	if (open)
		schedule->nr_open++;
	else if (schedule->nr_open)
		schedule->nr_open--;
}

/* from <= now < until. */
static bool is_between(uint64_t from_ns, uint64_t until_ns, uint64_t now_ns, uint64_t *next_ns)
{
	if (now_ns < from_ns) {
		*next_ns = from_ns;
		return false;
	}
	*next_ns = until_ns && now_ns < until_ns ? until_ns : UINT64_MAX;
	return !until_ns || now_ns < until_ns;
}

static bool is_on_duty(const struct window_options *options, uint64_t now_ns, uint64_t *next_ns)
{
	uint64_t phase_ns, change_ns;

	if (options->period_ns == 0 || options->on_ns == options->period_ns)
		return true;
	phase_ns = now_ns % options->period_ns;
	change_ns = now_ns - phase_ns +
		    (phase_ns < options->on_ns ? options->on_ns : options->period_ns);
	if (change_ns < *next_ns)
		*next_ns = change_ns;
	return phase_ns < options->on_ns;
}

/* Tells what was commanded, once its time has come. A start is over at its end. */
static bool is_commanded(const struct record_ring_command *command, uint64_t now_ns, bool *wanted,
			 uint64_t *next_ns)
{
	if (command->action == RECORD_RING_COMMAND_NONE)
		return false;
	if (now_ns < command->from_ns) {
		*next_ns = command->from_ns;
		return false;
	}
	*wanted = command->action == RECORD_RING_COMMAND_START &&
		  is_between(command->from_ns, command->until_ns, now_ns, next_ns);
	return true;
}

bool window_schedule_wanted(const struct window_schedule *schedule, uint64_t now_ns,
			    uint64_t *next_ns)
{
	const struct window_options *options = &schedule->options;
	uint64_t command_ns = UINT64_MAX;
	bool wanted = false;

	*next_ns = UINT64_MAX;
	if (is_commanded(&schedule->command, now_ns, &wanted, &command_ns)) {
		*next_ns = command_ns;
		return wanted;
	}
	if (!options->dormant && (options->range == WINDOW_RANGE_NONE || schedule->nr_open))
		wanted = is_between(options->from_ns, options->until_ns, now_ns, next_ns) &&
			 is_on_duty(options, now_ns, next_ns);
	if (command_ns < *next_ns)
		*next_ns = command_ns;
	return wanted;
}
