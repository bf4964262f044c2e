#include "guest_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#define STACK_BYTES (512u << 10)

int guest_thread_start(void *(*run)(void *argument))
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attributes, run, NULL);
	if (error == EINVAL) {
		/* The application's thread-local data does not fit into so small a stack. */
		pthread_attr_init(&attributes);
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
		error = pthread_create(&thread, &attributes, run, NULL);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}
