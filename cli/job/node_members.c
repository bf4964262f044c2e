#include "node_members.h"

#include <sys/socket.h>

pid_t node_members_pid(int fd)
{
	struct ucred credentials = {0};
	socklen_t size = sizeof(credentials);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) ? 0 : credentials.pid;
}

int node_members_staying(const struct member *members, int nr_members)
{
	int count = 0;

	for (int i = 0; i < nr_members; i++)
		count += !members[i].leaves;
	return count;
}

uint64_t node_members_waits_since_ns(const struct member *members, int nr_members, uint64_t now_ns)
{
	uint64_t since_ns = 0;

	for (int i = 0; i < nr_members; i++)
		if (members[i].ended_ns > since_ns)
			since_ns = members[i].ended_ns;
	return since_ns && since_ns < now_ns ? since_ns : now_ns;
}

uint64_t node_members_ended_ns(const struct member *members, int nr_members)
{
	uint64_t ended_ns = 0;

	for (int i = 0; i < nr_members; i++) {
		if (!members[i].leaves && members[i].state <= MEMBER_RUNS)
			return 0;
		if (members[i].ended_ns > ended_ns)
			ended_ns = members[i].ended_ns;
	}
	return ended_ns;
}
