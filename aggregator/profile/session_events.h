/* Applies launches and GPU records (EVENTS). Part of session_apply. Single-threaded. */
#ifndef SESSION_EVENTS_H
#define SESSION_EVENTS_H

struct agent_session;
struct collection;
struct message_events;

/* This many streams of a process have a timeline of their own since the aggregator's start. The others share one. */
#define SESSION_EVENTS_STREAMS_MAX 4096u

/* As session_apply(). */
int session_events_apply(struct agent_session *session, struct collection *collection,
			 const struct message_events *events, const char **reason);

#endif
