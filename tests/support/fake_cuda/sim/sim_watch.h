/* Tells the program of CUPTI's calls (fake_cuda_watch()). Any thread. */
#ifndef SIM_WATCH_H
#define SIM_WATCH_H

/* A function of CUPTI's begins. The caller holds no lock. */
void sim_watch_call(const char *function);

#endif
