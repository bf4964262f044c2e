/* Where the process stands with CUDA: before cuInit, in use, in a forked child, after its end. Any thread. */
#ifndef SIM_LIFE_H
#define SIM_LIFE_H

enum sim_life {
	SIM_LIFE_NEW,
	SIM_LIFE_READY,
	SIM_LIFE_FORKED, /* a child of a process that used CUDA: it must exec first */
	SIM_LIFE_OVER,   /* exit handlers have come as far as CUDA's own */
};

enum sim_life sim_life_state(void);

/* cuInit has finished: registers for fork, and for exit as the driver does. Once. */
void sim_life_start(void);

#endif
