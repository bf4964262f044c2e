/* Words that each launch reads, and that hardly ever change, lie side by side: in a section of their own. So a launch
 * fetches three cache lines for all of them, and variables that change often lie elsewhere. */
#ifndef LAUNCH_WORD_H
#define LAUNCH_WORD_H

#define LAUNCH_WORD __attribute__((section("launch_words")))

#endif
