/* Marks functions that each launch runs. Linkers put them side by side, so that they need few pages: in a real program
 * a launch finds hardly any of the guest's pages in the nearest tables of the processor. */
#ifndef LAUNCH_PATH_H
#define LAUNCH_PATH_H

#define LAUNCH_PATH __attribute__((section(".text.hot.launch")))

#endif
