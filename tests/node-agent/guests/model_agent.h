/* The agents of ring_model.h: what one does in a step, by the rules of ring_ownership.h. */
#ifndef MODEL_AGENT_H
#define MODEL_AGENT_H

#include "model_world.h"

/* Some agent that lives has this guest's ring. */
bool model_agent_holds(const struct model_world *world, uint32_t index);

/* Starts one, if none listens and there is room for it. */
void model_agent_start(struct model_world *world);

/* Its socket is gone, and what waits there. */
void model_agent_hide(struct model_world *world, struct model_agent *agent);

void model_agent_die(struct model_world *world, struct model_agent *agent);

/* An agent that leaves has looked at all of them before, and looks no more (process_table_end_all()). */
void model_agent_look_at_death(const struct model_world *world, struct model_agent *agent,
			       uint32_t index);

/* One step of whatever there is to do; nothing while it is stalled. */
void model_agent_step(struct model_world *world, struct model_agent *agent);

/* Of one that was asked to end: goes when no process is left, and all of its messages are stored. */
void model_agent_leave(struct model_world *world, struct model_agent *agent);

#endif
