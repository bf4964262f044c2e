# What is known of single tests: which of them share memory between threads, take long, or must be alone. By name, here
# alone: cmake/flamegrid_test.cmake tells ctest.

# ThreadSanitizer runs these: in each of them two threads share memory of the product. A test that starts a thread, or
# calls what starts one, belongs here.
set(FLAMEGRID_THREADED_TESTS
  # the guest's tables and callbacks, and its ring
  inject_activity_buffers_test
  inject_agent_handshake_test
  inject_api_statistics_test
  inject_device_launches_test
  inject_graph_callback_test
  inject_graph_nodes_test
  inject_launch_callback_test
  inject_launch_cost_test
  inject_kernel_context_test
  inject_kernel_sampler_contexts_test
  inject_cubin_copies_test
  inject_launch_thread_test
  inject_launch_gate_test
  inject_metrics_lock_test
  inject_nccl_profiler_test
  inject_nvtx_names_test
  inject_nvtx_ranges_test
  inject_profiler_range_test
  flamegrid_header_test
  python_code_test
  python_interpreter_test
  stack_bounds_test
  inject_stack_table_test
  inject_timeline_records_test
  unwind_program_test
  unwind_reload_test
  unwind_table_test
  unwind_trail_test
  inject_waiting_work_test
  inject_window_steps_test
  record_ring_collectives_test
  record_ring_test
  # the agent's loop, and the threads beside it; of the tests with a bpf_source, which have the symbolizer's thread and
  # those that close links, one
  address_stack_test
  agent_test
  bpf_python_process_test
  bpf_python_unread_test
  capability_set_test
  descriptor_closer_test
  foreign_call_test
  guest_listener_test
  host_calls_test
  link_reader_test
  module_names_test
  process_description_test
  process_placement_test
  symbolizer_test
  symbolizer_users_test
  telemetry_reader_test
  # the aggregator's loop, and those who ask it
  munge_worker_test
  proof_service_test
  aggregator_links_test
  aggregator_program_test
  aggregator_refusal_test
  aggregator_successor_test
  aggregator_test
  clock_service_test
  control_service_test
  day_test
  host_samples_test
  http_server_test
  job_metrics_test
  job_stall_test
  job_table_test
  metrics_board_test
  page_room_test
  worker_pool_test
  node_links_test
  profile_link_test
  raw_samples_test
  rendezvous_search_test
  # the readers of timelines
  cell_sums_test
  crew_fold_test
  events_crew_test
  strip_cells_test
  # fake CUDA, whose threads call the guest
  fake_capture_test
  fake_cuda_test
  fake_graph_test
  fake_inner_graph_test
  fake_timeline_test)

# Tests that take more than a second, with their seconds on two idle cores. ctest begins with the longest, and
# `./bootstrap check` leaves all of them out.
set(FLAMEGRID_SLOW_TESTS
  # unit tests
  aggregator_program_test 12
  aggregator_test 4
  agent_test 3
  batch_damage_test 1
  bpf_python_sample_test 18
  bpf_python_threads_test 2
  bpf_source_test 11
  call_auto_test 3
  call_stacks_test 29
  cell_file_test 3
  cell_gaps_test 1
  cell_sums_test 20
  collectives_test 16
  correlator_history_test 1
  cubin_lines_compiled_test 14
  day_test 13
  debug_file_test 3
  foreign_call_test 4
  host_calls_test 15
  inject_activity_taken_test 17
  inject_guest_host_test 3
  inject_guest_test 2
  packages_are_built 15
  packages_test 300
  python_interpreter_test 17
  inject_shared_profiler_test 14
  unwind_program_test 10
  job_metrics_test 2
  job_table_test 6
  lost_launches_test 3
  memory_test 1
  metrics_test 24
  probe_source_test 2
  process_maps_test 2
  page_store_test 5
  profile_idle_test 2
  publisher_test 3
  store_salvage_test 3
  report_straggler_test 6
  ring_model_test 4
  session_limits_test 2
  step_dir_schedule_test 1
  step_dir_test 1
  store_refusal_test 2
  store_test 12
  straggler_test 13
  stream_timeline_test 1
  strip_cells_test 3
  user_shares_test 1
  # whole programs
  absence_test 11
  address_space_test 2
  attach_test 15
  collectives_guest_test 8
  control_job_test 10
  cpu_shares_test 12
  crash_rounds_test 14
  cupti_versions_test 3
  debuginfod_test 6
  faulty_network_test 12
  flamegraph_browser_test 25
  large_browser_test 30
  sandwich_browser_test 15
  tables_browser_test 15
  host_only_test 8
  host_threads_test 5
  hostile_users_test 17
  incomplete_test 19
  kept_profiles_test 14
  launch_probe_agents_test 12
  launch_probe_test 7
  memory_limit_test 4
  metrics_peers_test 30
  mpi_test 8
  placement_test 8
  counters_test 60
  energy_test 39
  exact_samples_test 27
  exports_test 20
  kernel_metrics_test 33
  kernel_samples_test 20
  long_run_test 22
  merge_property_test 19
  part_timelines_test 30
  perfetto_test 17
  range_metrics_test 45
  straggler_ranks_test 18
  timeline_parts_test 20
  times_browser_test 22
  telemetry_test 30
  process_life_0_test 6
  process_life_1_test 6
  process_life_2_test 4
  process_life_3_test 4
  process_life_4_test 5
  process_life_others_test 20
  rank_threads_test 6
  full_disks_test 25
  lost_aggregator_test 38
  lost_central_test 140
  lost_node_rounds_test 40
  node_profiles_test 24
  node_timelines_test 42
  node_way_test 13
  ranks_test 21
  restarted_agent_test 11
  rights_test 6
  runs_on_test 5
  site_fetch_test 24
  slow_link_test 45
  site_jobs_test 13
  slurm_jobs_test 30
  slurm_lost_node_test 30
  slurm_spank_test 29
  slurm_steps_test 35
  slurm_test 21
  stalled_agent_test 7
  straggler_causes_test 16
  straggler_skew_test 24
  straggler_waits_test 4
  swarm_network_test 11
  swarm_test 4
  torch_operators_test 5
  top_test 30
  watch_experts_test 9
  watch_test 40
  windows_test 8)

# These measure what a thread gets of a processor, or fill all of them: they run alone.
set(FLAMEGRID_LONE_TESTS
  bpf_source_test
  cpu_shares_test
  memory_limit_test
  straggler_causes_test
  straggler_skew_test
  straggler_waits_test
  watch_test)
