/* How both ends of a network connection notice that the other host has vanished.
 *
 * The agent notices first: it sends a PING once a second, and ends the connection after five seconds without an answer.
 * The aggregator has nothing to send to a silent agent, so there the kernel probes. That takes 25 seconds.
 *
 * ZeroMQ's own heartbeats must stay off on both ends. Up to 4.3.5, libzmq aborts the process when a heartbeat is due on
 * a connection that broke while its input was stopped. Input stops at the high-water mark, that is whenever we are
 * slow. */
#ifndef CONNECTION_LIFE_H
#define CONNECTION_LIFE_H

#define CONNECTION_QUIET_S       10    /* until the kernel asks the other end (TCP keepalive) */
#define CONNECTION_PROBE_S       5     /* from one question to the next */
#define CONNECTION_PROBES        3     /* without an answer: the connection is over */
#define CONNECTION_UNANSWERED_MS 25000 /* for what was sent to be confirmed (TCP_USER_TIMEOUT) */

#endif
