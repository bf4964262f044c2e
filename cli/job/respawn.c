#include "respawn.h"

#include <errno.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAUSE_MS 100

int respawn_run(const struct respawn_body *body)
{
	for (uint32_t round = 0;; round++) {
		int status;
		pid_t pid = fork();

		if (pid < 0)
			return -errno;
		if (pid == 0)
			_exit(body->run(body->argument, round));
		while (waitpid(pid, &status, 0) < 0)
			if (errno != EINTR)
				return -errno;
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			return 0;
		if (round == RESPAWN_MAX || !body->again(body->argument, round, status))
			return -ECANCELED;
		poll(NULL, 0, PAUSE_MS << round);
	}
}
