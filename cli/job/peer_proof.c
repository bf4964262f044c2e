#include "peer_proof.h"

#include <poll.h>

#include "end_budget.h"

#include "base/clock.h"
#include "node-agent/publish/dealer_socket.h"

bool peer_proof_comes(const char *endpoint, const struct key_set *keys, uint32_t within_ms)
{
	const uint64_t begin_ns = clock_now_ns();
	struct dealer_socket *dealer;
	bool has_come = false;
	int timeout_ms, r = dealer_socket_create(endpoint, NULL, keys, &dealer);

	if (r == 0)
		r = dealer_socket_open(dealer);
	while (r == 0 && !has_come && !dealer_socket_refusals(dealer) &&
	       (timeout_ms = end_budget_timeout_ms(begin_ns, within_ms, clock_now_ns())) > 0) {
		struct pollfd news = {.fd = dealer_socket_fd(dealer), .events = POLLIN};

		poll(&news, 1, timeout_ms);
		dealer_socket_was_lost(dealer);
		has_come = dealer_socket_is_proven(dealer);
	}
	dealer_socket_destroy(dealer);
	return has_come;
}
