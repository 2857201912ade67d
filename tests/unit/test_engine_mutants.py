"""The engine with one thing wrong fails a test: 300 mutants, drawn by lot from all its modules with native code.

All native code runs as Python. The tests of the PANEL vouch for it: a mutant is tried by those that reach its function,
the quickest first. A mutant is caught if a test fails, crashes, or takes far longer than without it.

Left out are modules that no run executes: those that compile, declare memory, or were generated from such declarations.

Tests were added for mutants of this list that survived at first. Of a new list more would survive: up to a quarter.
"""

from __future__ import annotations

import importlib
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from oracles.forked import Case, cases, fail, runnable_with_fixtures, survivors_apart
from oracles.interpreted import engine_modules, interpreted
from oracles.source_mutants import Mutant, functions, inside, mutants, replacements

COUNT = 300
# Names of the mutants, one in a line. A mutant whose code has changed is left out; from too few on, draw anew.
LIST, LEFT = Path(__file__).with_name("engine_mutants.txt"), 270
# Least share of the mutants that are noticed, of those that are not correct too.
LEAST_SHARE = 0.95
ROOMS = ("memory", "linear", "laws", "rows", "project", "hybrid", "step", "realtime")
ROOT = "kane.engine."
# Seconds of CPU that all tests together may take as Python.
MOST_SECONDS = 600
# A mutant that takes so many times as long as the right code, and some seconds, does not end.
PATIENCE, GRACE = 5.0, 5.0
# Files of tests, and which of their tests belong to the panel; all if none is named.
PANEL: dict[str, tuple[str, ...]] = {
    "agreement.test_charts_with_contacts": (
        "test_contacts_that_are_never_met_change_nothing_in_a_run_that_changes_its_charts",
    ),
    "agreement.test_sensitivities": (
        "test_an_oscillator_has_the_derivatives_of_its_closed_form",
        "test_the_gradient_of_a_cost_follows_by_the_chain_rule",
        "test_a_spinning_body_has_the_derivatives_of_differences",
        "test_laws_of_feedback_are_derived_with_the_motion",
        "test_what_has_no_derivative_is_named",
        "test_forwards_and_backwards_are_one",
        "test_fixed_steps_have_the_derivatives_of_their_own_map",
        "test_a_bouncing_ball_has_the_derivatives_of_its_closed_form",
        "test_impacts_in_one_instant_that_act_on_each_other_are_refused_by_name",
    ),
    "unit.test_admittance": (
        "test_the_servo_moves_along_its_closed_form_and_its_sensor_measures_what_hand_and_handle_need",
        "test_the_device_holds_its_handle_without_commands_and_after_a_command_to_hold",
        "test_a_position_is_limited_in_speed_workspace_and_power",
        "test_a_position_that_is_no_number_is_not_written_and_ends_the_motion",
        "test_the_target_is_where_proxy_and_handle_meet_and_along_other_axes_the_last_position",
        "test_after_each_of_twenty_faults_the_device_was_within_its_limits_and_holds_within_40_ms",
        "test_a_force_above_the_limit_ends_the_motion_and_says_so",
        "test_a_motion_begins_softly_and_the_device_does_not_move_unarmed",
    ),
    "unit.test_age_of_samples": ("test_the_force_is_that_of_where_the_hand_is_when_it_acts_however_old_the_sample",),
    "unit.test_changes_at_one_instant": (
        "test_a_plank_that_rocks_slower_than_a_hop_comes_to_rest_on_both_ends_at_once",
    ),
    "unit.test_changes_by_islands": (
        "test_changes_by_the_factor_of_the_mass_matrix_are_those_with_all_rows_embedded",
        "test_changes_of_boxes_embed_nothing",
    ),
    "unit.test_charts": (
        "test_the_trajectory_says_when_charts_were_switched",
        "test_names_units_and_times_are_those_of_the_run_without_charts",
        "test_angles_do_not_jump",
        "test_switches_survive_a_file",
        "test_records_are_made_at_the_times_asked_for",
        "test_a_switch_at_a_time_of_a_record_is_recorded_once",
        "test_every_step_may_be_recorded",
        "test_a_run_may_start_at_the_singularity_and_go_back_in_time",
        "test_every_integrator_switches",
        "test_events_are_found_in_both_charts_and_a_terminal_one_ends_the_run",
        "test_progress_never_goes_back",
        "test_what_refers_to_angles_that_switch_is_refused_at_once",
        "test_inputs_and_events_that_refer_to_angles_are_refused",
        "test_a_gimbal_that_may_not_switch_may_be_referred_to",
    ),
    "unit.test_clock_of_ticks": (),
    "unit.test_compiled_contacts": ("test_accelerations_guards_and_projected_states_are_those_found_in_numbers",),
    "unit.test_compiled_modes": (
        "test_compiled_projection_and_right_hand_side_are_the_numeric_ones",
        "test_whatever_a_loop_is_made_of_the_motion_is_the_numeric_one",
    ),
    "unit.test_complementarity": ("test_inner_points_lead_near_reactions_of_cones_of_any_kind",),
    "unit.test_complementarity_method": (),
    "unit.test_contact_faults": (
        "test_what_is_imposed_with_rows_that_are_no_numbers_is_named_and_friction_is_not_blamed",
    ),
    "unit.test_contact_programs": (
        "test_accelerations_and_forces_of_any_mode_are_those_of_all_equations_at_once",
        "test_changes_keep_momentum_lose_energy_and_end_where_signorini_and_coulomb_hold",
        "test_a_block_on_two_corners_begins_to_slip_at_the_angle_of_friction",
        "test_slip_that_has_passed_zero_sticks_or_is_reversed",
        "test_a_slip_that_has_passed_zero_by_more_than_rounding_and_cannot_be_held_goes_on_as_it_goes",
        "test_a_slip_that_an_impact_reverses_goes_on_the_other_way",
        "test_a_contact_that_hops_less_than_anything_comes_to_rest",
        "test_a_reaction_that_would_pull_lets_go",
        "test_a_reaction_that_rounding_makes_is_no_reason_to_let_go",
        "test_friction_in_a_joint_slips_at_its_threshold",
        "test_a_switch_projects_momentum_on_what_it_imposes",
        "test_a_ball_that_strikes_by_the_law_of_newton_leaves_with_its_share_of_the_speed",
        "test_restitution_of_newton_that_would_make_energy_is_an_error_that_names_the_contact",
        "test_a_rod_in_painleves_paradox_is_stopped_by_an_impulse_without_collision",
        "test_all_ways_find_the_same_accelerations_in_any_mode",
        "test_many_rows_in_islands_move_as_all_equations_at_once_say",
        "test_boxes_on_four_corners_move_as_the_embedding_of_all_rows_says",
        "test_projection_moves_speeds_by_the_least_change_in_kinetic_energy",
        "test_where_two_bars_between_sticking_contacts_come_into_line_no_force_holds_both",
        "test_a_slip_has_ended_where_it_began_with_the_change_and_its_speed_is_gone",
    ),
    "unit.test_contacts_in_lanes": (
        "test_loops_with_contacts_and_parameters_of_their_own_run_side_by_side",
        "test_a_latch_that_is_armed_anew_and_modes_that_are_not_compiled_run_side_by_side",
        "test_what_lanes_cannot_pass_is_made_alone_from_its_start",
    ),
    "unit.test_dynamic_jams": (
        "test_responses_multiply_to_the_determinant_and_contacts_apart_keep_their_own",
        "test_of_contacts_that_hold_each_other_the_one_that_would_be_driven_in_alone_has_a_positive_response",
    ),
    "unit.test_embedding_native": (
        "test_the_rank_is_found_and_least_squares_are_those_of_numpy",
        "test_the_least_solution_of_equations_is_that_of_the_pseudoinverse",
        "test_the_longest_column_is_that_of_numpy_whatever_stands_in_scratch_and_behind",
        "test_a_row_that_repeats_others_but_for_rounding_counts_as_none_and_one_that_is_shorter_does_not",
        "test_the_least_solution_by_normal_equations_is_that_of_the_pseudoinverse_whatever_rows_repeat_others",
        "test_cholesky_gives_the_factor_of_numpy_and_touches_nothing_above_the_diagonal_or_beyond",
        "test_a_pivot_of_cholesky_counts_down_to_the_tolerance_times_n_and_its_diagonal_entry",
        "test_loads_are_projected_onto_the_independent_speeds",
        "test_newton_s_method_takes_as_many_steps_as_it_may_and_undoes_the_one_that_does_not_help",
        "test_a_step_that_is_undone_restores_the_coordinates_and_nothing_else",
        "test_a_choice_serves_only_if_no_exchange_of_two_speeds_doubles_its_volume_and_the_rank_is_that_of_A",
        "test_a_choice_in_force_stays_where_it_serves_or_its_pivots_do_and_else_that_by_pivoting_takes_its_place",
        "test_pivots_fall_and_are_within_a_small_factor_of_the_singular_values",
        "test_the_matrix_of_dependent_speeds_is_minus_the_pseudoinverse_times_the_rest",
        "test_a_dependent_speed_whose_pivot_is_zero_depends_on_nothing",
        "test_whole_numbers_are_no_special_case",
        "test_a_vector_is_reflected_whatever_its_share",
        "test_a_pivot_is_judged_by_what_is_left_and_not_by_what_was",
        "test_columns_that_nearly_cancel_are_summed_anew",
        "test_a_pivot_that_has_lost_half_the_digits_counts_as_zero",
        "test_columns_in_a_given_order_are_not_exchanged_and_a_zero_pivot_gives_zero",
        "test_a_residual_that_is_no_number_is_the_largest_wherever_it_stands",
        "test_cholesky_solves_and_a_singular_matrix_gives_nan",
        "test_the_arrays_of_a_call_lie_one_after_the_other_in_their_work",
        "test_freedoms_rise_where_all_rods_lie_along_a_line_and_fall_again_behind",
        "test_speeds_are_projected_when_the_rank_rises_again",
        "test_near_the_singular_position_conditioning_falls_with_the_distance",
        "test_projection_reports_the_residuals_that_it_found_and_leaves_none",
        "test_projection_moves_coordinates_by_the_least_speeds",
        "test_projection_loop_by_loop_moves_coordinates_by_the_least_speeds_too",
        "test_a_newton_step_that_overshoots_is_halved_until_it_gains",
        "test_coordinates_are_moved_by_the_joints_own_speeds_whatever_speeds_are_chosen",
        "test_quaternions_and_parameters_reach_the_projection_by_the_joints_own_speeds",
        "test_a_step_that_gains_nothing_however_often_it_is_halved_is_taken_back",
        "test_independent_speeds_are_kept_to_the_last_bit",
        "test_the_choice_is_made_anew_when_it_is_twice_as_bad_as_the_best_and_not_before",
        "test_a_choice_in_force_is_kept_while_its_smallest_pivot_is_half_that_of_the_best",
        "test_a_choice_made_for_good_stays_however_bad_it_is",
        "test_a_speed_that_constraints_take_away_is_zero_and_a_small_one_beside_large_ones_stays",
        "test_rows_that_cannot_all_hold_leave_a_residual_that_projection_reports_and_finite_speeds",
        "test_rows_that_are_not_linear_in_the_speeds_are_solved_by_iteration",
        "test_quaternions_are_normalised_by_projection",
        "test_a_singular_mass_matrix_gives_nan_and_not_a_number_that_looks_right",
        "test_parameters_of_each_state_reach_all_programs",
        "test_threads_give_the_same_bits",
        "test_shapes_are_checked_as_of_any_compiled_function",
        "test_a_row_in_force_is_measured_from_where_it_is_held_and_one_that_is_not_or_is_held_nowhere_counts_as_zero",
        "test_the_residual_of_the_only_row_is_zero_where_it_is_not_in_force",
        "test_the_least_speeds_are_those_of_the_rows_in_force_alone",
        "test_the_least_speeds_of_rows_of_ones_are_no_special_case",
    ),
    "unit.test_fronts": (
        "test_random_systems_are_solved_as_their_multipliers_say",
        "test_weak_pivots_are_left_to_later_fronts_and_not_taken",
        "test_where_windows_lie_flat_the_rank_of_each_falls_by_one",
        "test_small_kernels_of_fronts_do_what_they_say",
    ),
    "unit.test_haply": (
        "test_a_force_that_the_loop_does_not_renew_is_not_passed_on",
        "test_messages_that_are_none_move_nothing_and_are_answered_without_a_force",
    ),
    "unit.test_haptic_safety": (
        "test_after_each_of_thirty_faults_the_force_was_within_its_limits_and_is_gone_within_40_ms",
        "test_a_wrench_goes_towards_what_is_wanted_as_fast_as_it_may",
        "test_the_level_of_the_forces_rises_while_armed_and_is_zero_otherwise",
        "test_an_orientation_is_taken_where_an_axis_turns_and_its_rates_are_those_of_small_rotations",
        "test_a_mechanism_too_light_for_its_coupler_ends_the_force_when_it_goes_to_infinity",
        "test_a_simulation_that_cannot_go_on_ends_the_force_and_then_says_why",
        "test_a_device_that_vanishes_ends_the_force_until_it_is_armed_again",
        "test_forces_begin_softly_and_without_a_step",
    ),
    "unit.test_haptic_session": (
        "test_energy_is_accounted_for_on_both_sides",
        "test_the_observer_sees_the_energy_that_sampling_makes_of_a_spring",
        "test_no_force_without_arming_and_none_after_disarming",
        "test_ticks_that_come_late_are_made_up_for_and_time_stays_with_the_clock",
    ),
    "unit.test_impact": (),
    "unit.test_impacts_together": (
        "test_what_is_found_keeps_the_laws_and_takes_energy",
        "test_without_friction_there_is_one_solution_and_enumeration_finds_it",
        "test_in_the_plane_what_is_found_is_among_what_enumeration_finds",
        "test_four_corners_that_strike_at_once_share_the_impulse_equally",
        "test_five_balls_struck_together_disperse",
        "test_five_balls_struck_in_turn_send_off_as_many_as_came",
        "test_the_expansion_of_two_rough_contacts_would_make_energy_and_is_scaled_down_until_it_does_not",
        "test_the_share_of_an_expansion_is_found_by_few_trials",
        "test_energy_never_grows_in_any_law",
        "test_contacts_that_do_not_feel_each_other_have_impacts_of_their_own",
        "test_between_a_floor_and_a_ceiling_that_it_touches_both_a_mass_stops",
    ),
    "unit.test_islands": (),
    "unit.test_kernels_alone": (),
    "unit.test_kinks": (),
    "unit.test_lane_settling": (
        "test_a_step_that_gains_nothing_beside_rounding_is_taken_back",
        "test_unit_quaternions_are_scaled_as_alone",
        "test_a_state_that_is_not_finite_stays_as_it_is_and_harms_no_other",
    ),
    "unit.test_marches": (),
    "unit.test_mode_changes": (),
    "unit.test_mode_search": (
        "test_all_laws_at_once_find_modes_in_which_the_laws_hold",
        "test_the_next_mode_is_the_same_bits_again",
    ),
    "unit.test_native_rotations": (),
    "unit.test_passive_midpoint": (
        "test_the_period_of_a_harmonic_oscillation_is_that_of_the_midpoint_rule",
        "test_it_agrees_with_simulate_as_the_step_shrinks",
        "test_it_is_replayed_bit_for_bit",
        "test_dry_friction_takes_what_a_block_had_and_the_book_says_so",
    ),
    "unit.test_pointer": (
        "test_the_handle_goes_after_the_mouse_as_a_critically_damped_mass_does",
        "test_the_handle_is_no_faster_than_a_hand_and_stops_where_the_mouse_is",
        "test_a_page_that_says_nothing_or_goes_away_gives_no_samples",
        "test_a_page_that_comes_back_elsewhere_does_not_make_the_handle_leap",
        "test_pages_of_sessions_with_other_devices_may_only_look",
        "test_who_looks_on_changes_no_bit_of_what_happens",
    ),
    "unit.test_power_ledger": (
        "test_the_ledger_of_a_slider_is_that_worked_out_by_hand",
        "test_the_parameters_of_the_run_are_those_of_the_ledger",
        "test_work_of_motors_dampers_and_forces_is_what_the_energy_gains",
        "test_what_prescribes_motion_is_the_imbalance",
        "test_a_run_of_another_model_is_refused",
        "test_a_model_without_loads_keeps_its_energy",
    ),
    "unit.test_prediction": (
        "test_where_no_hand_pulls_what_was_tried_is_what_the_tick_then_does",
        "test_whether_to_predict_is_said_by_true_or_false",
        "test_the_state_that_a_tick_is_tried_from_is_the_present_one",
    ),
    "unit.test_pulses": ("test_a_switch_that_is_on_for_a_moment_is_imposed",),
    "unit.test_rigid_coupler": (
        "test_the_force_is_that_of_the_lever_s_equation_at_the_motion_of_the_hand",
        "test_the_force_is_what_kane_s_inverse_dynamics_says_of_the_motion",
        "test_forces_rise_softly_and_end_as_those_of_springs_do",
        "test_what_the_handle_does_not_determine_is_refused_by_numbers",
        "test_bad_settings_of_a_rigid_coupler_are_refused",
        "test_a_handle_that_is_drawn_where_the_mechanism_cannot_go_ends_the_force_and_says_so",
        "test_a_coupler_that_is_a_spring_has_no_part_of_it",
    ),
    "unit.test_sampled": (
        "test_an_answer_takes_effect_after_its_delay",
        "test_ticks_with_jitter_are_late_by_up_to_so_much_and_the_same_for_one_seed",
        "test_a_controller_remembers_its_state_and_begins_each_run_with_the_first_one",
        "test_laws_of_two_periods_tick_each_at_its_own",
        "test_all_inputs_may_come_from_one_law",
        "test_recorded_inputs_are_those_that_were_held",
        "test_an_expression_in_continuous_time_may_read_what_is_sampled",
        "test_a_stepper_takes_samples_as_simulate_does",
        "test_a_stepper_goes_on_from_a_terminal_event_with_the_ticks_that_are_left",
        "test_steps_of_rk4_converge_with_order_four_to_the_exact_solution_of_a_sampled_one",
        "test_a_law_that_fails_says_when_and_what_was_computed_is_not_lost",
        "test_a_failed_run_of_any_kind_keeps_its_trajectory",
        "test_runs_that_cannot_keep_ticks_are_refused",
        "test_what_a_law_cannot_say_stops_the_run_at_its_tick",
        "test_a_law_of_several_inputs_that_fails_is_named_after_all_of_them",
        "test_a_law_with_a_state_returns_the_next_one",
        "test_a_stepper_refuses_steps_that_pass_a_tick_and_values_for_what_is_sampled",
        "test_a_run_plans_its_ticks_as_they_come",
        "test_more_ticks_than_the_memory_holds_are_refused_at_the_start",
    ),
    "unit.test_samples_believed": (),
    "unit.test_settling_nearby": (),
    "unit.test_shares_within_bounds": (),
    "unit.test_side_by_side": ("test_four_corners_that_stop_together_take_no_shorter_steps_than_one_contact_does",),
    "unit.test_simulate_events": (
        "test_a_direction_leaves_out_the_other_one",
        "test_a_terminal_event_ends_the_run_there",
        "test_a_run_goes_on_from_a_terminal_event_without_finding_it_again",
        "test_rates_time_parameters_and_inputs_may_be_watched",
        "test_a_controller_may_be_watched",
        "test_a_zero_that_is_touched_and_not_crossed_is_no_event",
        "test_a_zero_exactly_at_the_last_time_is_an_event",
        "test_a_zero_within_the_run_at_the_end_of_a_step_is_found_once",
        "test_fast_events_are_missed_in_long_steps_and_found_with_max_step",
        "test_fast_events_of_time_alone_are_found_in_long_steps",
        "test_events_are_found_when_time_runs_backwards",
        "test_events_are_saved_with_the_run",
        "test_an_event_that_never_ends_is_an_error",
        "test_occurrences_are_equal_where_their_values_are",
    ),
    "unit.test_simulate_inputs": ("test_a_block_that_is_pushed_in_samples_slips_where_the_push_exceeds_friction",),
    "unit.test_simulate_many": (
        "test_feedback_by_expressions_is_that_of_a_run_alone",
        "test_quaternions_keep_their_length_and_the_bits_of_a_run_alone",
        "test_inputs_and_parameters_may_differ_from_trajectory_to_trajectory",
        "test_time_runs_backwards_too",
        "test_energy_is_kept_in_every_trajectory",
        "test_a_machine_without_lanes_gets_the_same_bits",
        "test_order_of_the_trajectories_does_not_matter",
        "test_a_state_that_is_no_number_fails_alone_and_with_the_words_of_simulate",
        "test_a_motion_that_runs_away_fails_alone_and_with_the_words_of_simulate",
        "test_a_start_with_infinite_acceleration_fails_alone_and_with_the_words_of_simulate",
        "test_a_quaternion_that_is_too_long_is_told_for_its_trajectory",
        "test_results_carry_names_and_go_to_a_file",
    ),
    "unit.test_simulated_device": (
        "test_between_ticks_a_handle_in_an_arm_moves_as_the_matrix_exponential_says",
        "test_dry_friction_stops_a_handle_where_the_work_is_done_and_holds_it",
        "test_each_half_swing_in_an_arm_loses_what_dry_friction_takes",
        "test_an_arm_that_pulls_slowly_makes_the_handle_stick_until_friction_gives_way",
        "test_a_force_acts_when_its_delay_is_over_and_ends_when_it_is_not_renewed",
        "test_a_force_that_is_no_number_changes_nothing",
        "test_encoders_have_steps_and_motors_have_limits",
        "test_lost_samples_are_the_part_that_was_asked_for_and_the_same_ones_for_a_seed",
        "test_reading_between_ticks_gives_the_last_tick_again",
    ),
    "unit.test_slip_direction": (),
    "unit.test_steady_guards": (),
    "unit.test_stepping_over": (
        "test_a_point_that_slides_loses_mu_g_h_and_one_that_falls_lands",
        "test_a_short_step_of_painleves_rod_is_the_impact_without_collision",
        "test_no_step_of_a_rod_takes_less_than_nothing_wherever_it_starts",
        "test_a_run_goes_on_behind_such_a_step_and_tells_of_it",
        "test_what_such_steps_do_not_pass_ends_with_an_error_that_says_so",
        "test_without_a_contact_nothing_is_stepped_over",
    ),
    "unit.test_turning_couplers": (
        "test_the_gimbal_of_a_simulated_handle_says_its_orientation_and_gives_torques_their_power",
        "test_with_six_axes_the_motion_is_that_of_simulate_and_the_session_is_run_again_bit_for_bit",
        "test_hand_and_mechanism_together_gain_nothing_from_a_coupler_of_orientations",
        "test_torques_stay_within_their_limit_and_a_coupler_too_stiff_to_turn_is_told",
    ),
}
# Mutants that are correct too, by module and name.
EQUIVALENT: dict[str, str] = {
    "hybrid.collisions._expand: g.before[j] + g.squeezed[j] "
    "-> g.before[j]": "the search for the share of an expansion begins elsewhere",
    "hybrid.collisions._expand: g.total[j] * (g.before[j] + g.squeezed[j]) -> g.total[j] / (g.before[j] + "
    "g.squeezed[j])": "the search for the share of an expansion begins elsewhere",
    "hybrid.consistency._violation: 1e-300 -> 2e-300": "both are smaller than any size",
    "hybrid.mode_search._flip_violated: 1 -> 2 (2)": "no status is flipped in attempts beyond the last",
    "laws.impact._find_end: above != below -> above == below": "bisection finds the same end",
    "laws.impact._follow: length(b.v[1], b.v[2]) -> length(b.v[2], b.v[1])": "a length has no order",
    "laws.interior_point.approach_inside: 0 -> 1 (2)": "one step fewer, where far fewer are needed",
    "linear.elimination.factor_rows: rank + 1 -> rank": "a pivot is not larger than itself",
    "linear.factorizations.factor_triangle: 0 -> 1": "the factor is square",
    "realtime.passive_midpoint._try_step: 0.5 * T -> 0.5 / T (3)": "passive steps refuse what depends on time",
    "realtime.passive_midpoint._try_step: 0.5 -> 1.0 (2)": "passive steps refuse what depends on time",
    "realtime.tangent_rows.friction: False -> True (3)": "a friction of zero is added",
    "rows.front_embedding._serves: t.plan[1 + f] + PARENT -> t.plan[1 + f] - PARENT": "PARENT is zero",
    "rows.islands.solve_islands: 1.0 -> 2.0": "no share exceeds one",
    "rows.tree_response.accelerate_by_response: 0 "
    "-> 1 (3)": "programs are given where an array starts, and not its length",
    "step.event_location.locate: k < SMOOTH_FRACTIONS or k % 3 != 2 "
    "-> k < SMOOTH_FRACTIONS and k % 3 != 2": "bisection finds the same root",
    "step.guards._search_negative: (at_high - at_right) * inner "
    "-> (at_high - at_right) / inner": "a lower bound ends the search later, at the same",
    "step.variations.vary_backwards: i + 1 -> i": "an explicit method has no coefficient there",
}
# Mutants that are wrong and that no test notices, by module and name.
KNOWN: dict[str, str] = {
    "hybrid.collisions._solve: 0.0 "
    "-> 1.0": "reactions are searched from elsewhere, and differ only where there are several",
    "hybrid.consistency._violation: -value / max(size, 1e-300) "
    "-> -value * max(size, 1e-300) (2)": "violations are tried in another order",
    "hybrid.mode_search._find_accelerations: aimed == 0 "
    "-> aimed != 0": "the search of all laws at once then finds the direction",
    "linear.fronts.reduce_fronts: n * ROUNDING * whole[i] -> n * ROUNDING / whole[i]": "a bound of rounding",
    "project.speed_selections.project: 0 "
    "-> 1 (5)": "no test has coordinates that a compiled selection does not give accurately",
    "realtime.passive_midpoint.march_passive: counts.transitions[0] != changes "
    "-> counts.transitions[0] == changes": "a passive step through an impact runs this line and does not notice it",
    "realtime.simulated_device.advance: at + slack -> at": "a bound of rounding",
    "realtime.tick_prediction.adopt_prediction: _copy(a.copies[2], a.carried[2]) "
    "-> pass": "tests of predicted passive steps take too long as Python",
    "rows.embedding.embed: not smallest_pivot(a.f, rank) > stale * longest_column(a.rows.A, a.f.w) -> "
    "smallest_pivot(a.f, rank) > stale * longest_column(a.rows.A, "
    "a.f.w)": "other dependent speeds give the same motion with more rounding",
    "rows.row_forces._mark_contradictions: abs(entry * c.udot[j]) + abs(entry * c.h[j]) / a.unconstrained.M[j "
    "* (j + 1) // 2 + j] -> abs(entry * c.udot[j])": "a bound of rounding",
    "rows.tree_response._is_good: 0.0 -> 1.0": "a bound of rounding",
    "step.explicit.first_step: 1e-05 -> 2e-05 (2)": "a threshold of slopes that nearly vanish",
    "step.explicit.integrate_explicit: double_step(course, store, fixed_step(course, clock, counts)[0]) "
    "-> pass": "steps stay short after a kink, and are accurate",
    "step.slip_directions._kept_of: 0 -> 1 (4)": "it differs only where the memory has room for a single number",
}


@dataclass
class Tried:
    """A test with one set of its parameters, run as Python without a mutant.

    Attributes:
        case: the test and its parameters.
        reached: names of the functions of the engine that it called.
        seconds: its CPU time.
    """

    case: Case
    reached: frozenset[str]
    seconds: float


def drawn() -> dict[str, Mutant]:
    """Return the mutants of the list whose code is still there, by module and name."""
    found = {}
    names = LIST.read_text("utf-8").splitlines()
    for module in engine_modules():
        short = module.removeprefix(ROOT)
        here = {name for name in names if name.startswith(f"{short}.")}
        if here:
            found.update({f"{short}.{m.name}": m for m in mutants(module) if f"{short}.{m.name}" in here})
    return found


def draw() -> list[str]:
    """Return the names of mutants by lot, each mutant of the engine equally likely."""
    sizes = {}
    for module in engine_modules():
        tried = [f for path, f in functions(module) if path[-1] != "__repr__"]
        sizes[module] = sum(1 for f in tried for node in inside(f) for _ in replacements(node))
    places = sorted(random.sample(range(sum(sizes.values())), COUNT))
    found, first = [], 0
    for module, size in sizes.items():
        here = [k - first for k in places if first <= k < first + size]
        every = mutants(module) if here else []
        found += [f"{module.removeprefix(ROOT)}.{every[k].name}" for k in here]
        first += size
    return found


def followed(case: Case) -> Tried:
    """Run a test that must pass, and note which functions of the engine it calls."""
    codes = set()

    def note(frame, event, _):
        if event == "call":
            codes.add(frame.f_code)

    began = time.process_time()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        failed = fail([case])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert not failed, case
    return Tried(case, frozenset(filter(None, map(engine_name, codes))), time.process_time() - began)


def engine_name(code) -> str:
    """Return the name of a function of the engine, with its module; empty for all others."""
    _, folder, file = code.co_filename.rpartition("/kane/engine/")
    return f"{file.removesuffix('.py').replace('/', '.')}.{code.co_qualname}" if folder else ""


@pytest.fixture(scope="module")
def chosen() -> dict[str, Mutant]:
    found = drawn()
    assert len(found) >= LEFT, f"draw anew, because much code has changed: python {__file__}"
    return found


def panel_of(files: dict[str, tuple[str, ...]]) -> list[Tried]:
    """Run tests of files as Python without a mutant, and return them, the quickest first."""
    found = []
    for file, names in files.items():
        tests = [
            t for t in runnable_with_fixtures(importlib.import_module(file), ()) if not names or t.__name__ in names
        ]
        assert len(tests) == len(names) or not names, file
        found += [followed(case) for case in cases(tests)]
    return sorted(found, key=lambda test: test.seconds)


@pytest.fixture(scope="module")
def notices() -> Iterator[Callable[[Mutant], bool]]:
    """A function that checks whether a test of the panel notices a mutant, in a child process."""
    with interpreted() as raised:
        panel = panel_of(PANEL)
        assert not raised
        assert sum(test.seconds for test in panel) < MOST_SECONDS
        yield lambda mutant: is_noticed(mutant, panel, raised)


def is_noticed(mutant: Mutant, panel: list[Tried], raised: list[BaseException]) -> bool:
    """Check whether a test notices a mutant or an exception is raised where only native code sees it."""
    name = f"{mutant.module.removeprefix(ROOT)}.{'.'.join(mutant.path)}"
    telling = [test for test in panel if name in test.reached]

    def fails() -> bool:
        for test in telling:
            signal.setitimer(signal.ITIMER_VIRTUAL, GRACE + PATIENCE * test.seconds)
            if fail([test.case]) or raised:
                return True
        return False

    whole = sum(GRACE + PATIENCE * test.seconds for test in telling)
    return survivors_apart([mutant], fails, seconds=int(whole) + 1) == []


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_an_engine_with_one_thing_wrong_fails(room, chosen, notices):
    tried = {name: mutant for name, mutant in chosen.items() if name.split(".")[0] == room}
    assert [n for n, m in tried.items() if n not in {**EQUIVALENT, **KNOWN} and not notices(m)] == []


@pytest.mark.slow
def test_the_mutants_that_no_test_notices_are_few_and_among_those_drawn(chosen):
    assert {*EQUIVALENT, *KNOWN} <= chosen.keys()
    assert len(KNOWN) <= (1.0 - LEAST_SHARE) * (len(chosen) - len(EQUIVALENT))


if __name__ == "__main__":
    LIST.write_text("\n".join([*draw(), ""]), "utf-8")
