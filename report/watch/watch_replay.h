/* Computes how long a step would take if some ranks were not late. The collectives of a window are played twice: as
 * they were, and with the late ranks' excess taken away. No clock is compared with another.
 *   - A rank works from the end of one of its collectives to the begin of the next. Each collective begins when its
 *     last rank comes, and lasts as long as that rank was in it. It ends for all ranks at once.
 *   - Excess is a late rank's work before a collective, less the median of the others' before the same one. Without
 *     others there, it is less the median before all collectives of the kind.
 *   - What is usual of the excess is taken away: its median, by rank, communicator and kind. So is what lies more than
 *     WATCH_REPLAY_SPREADS spreads beyond that. The rank keeps the noise that every rank has.
 *   - A collective that begins before the rank's last one has ended depends on the begin of that one.
 * What else the ranks wait for is taken for work, so sends and receives must not be in the window. Pure; any thread. */
#ifndef WATCH_REPLAY_H
#define WATCH_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#define WATCH_REPLAY_SPREADS 3.5

/* A rank in a collective, by a clock of its own. */
struct watch_visit {
	uint32_t rank;
	uint64_t start_ns, end_ns;
};

/* A collective: its visits follow one another, those of its ranks in a fixed order. */
struct watch_meeting {
	uint32_t communicator, kind;     /* any numbers; kind: of the same function and size */
	uint32_t first_visit, nr_visits; /* at least one */
};

struct watch_replay_input {
	const struct watch_meeting *meetings; /* of each communicator in its order */
	uint32_t nr_meetings;
	const struct watch_visit *visits;
	uint32_t nr_visits;
	const bool *late;      /* of each rank */
	uint32_t nr_ranks;     /* all visits have lower ranks */
	uint32_t communicator; /* that on which a step is measured */
	uint32_t period;       /* its collectives in a step; at least 1 */
};

struct watch_replay_result {
	uint32_t steps;            /* the last ones, that are there as a whole */
	double now_ns, without_ns; /* their mean time: as it was, and without the excess */
};

/* 0; -ENODATA: no whole step is there, or no other rank to compare with; -EINVAL: the ranks have the collectives in
 * different orders; -ENOMEM. */
int watch_replay(const struct watch_replay_input *input, struct watch_replay_result *result);

#endif
