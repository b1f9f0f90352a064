"""Which tests hold the answer to each row of `docs/peer.md`.

A test is named as `folder/file::function`, from `tests/capture` on.
"""

from __future__ import annotations

HOST = "gaps/test_host_unchanged"
KEPT = "gaps/test_calls_kept"
FACTS = "gaps/test_facts"
CASES = "gaps/test_cases::test_a_way_of_calling_is_recorded_as_it_should_be"
WAYS = "wire/test_every_way_to_ask::test_the_host_gets_the_same_and_the_trace_has_the_call"
SURFACES = "wire/test_every_surface::test_the_whole_call_is_recorded"
CLIENT = "wire/test_wrapped_client"
STREAMS = "wire/test_streams"
FAILURES = "wire/test_failures"
SCOPE = "recorder/test_scope"
PARTS = "decoders/test_parts"
SENT = f"{KEPT}::test_what_the_openai_sdk_sends_is_recorded"
GEMINI = f"{KEPT}::test_every_form_of_contents_that_gemini_takes_is_recorded"

ROWS: dict[str, tuple[str, ...]] = {
    "A1": (WAYS, SURFACES),
    "A2": (f"{HOST}::test_a_wrapped_client_is_a_context_manager",),
    "A3": (f"{CLIENT}::test_writing_an_attribute_changes_the_wrapped_client",),
    "A4": (f"{CLIENT}::test_it_has_the_class_and_the_settings_of_the_client", CASES),
    "A5": (
        f"{CLIENT}::test_wrapping_again_records_once_under_the_new_agent",
        f"{CLIENT}::test_an_unknown_client_is_refused_with_what_is_supported",
    ),
    "A6": (f"{HOST}::test_a_tag_of_nothing_costs_neither_the_host_nor_the_call",),
    "A7": (f"{SCOPE}::test_a_step_that_is_left_in_another_context_raises_nothing",),
    "A8": (
        f"{HOST}::test_exact_counts_need_neither_network_nor_a_cache",
        "tokens/test_counter::test_the_first_count_works_without_a_network",
    ),
    "A9": ("recorder/test_writer::test_closing_gives_up_on_a_store_that_hangs",),
    "A10": (
        f"{HOST}::test_a_wrapped_client_looks_like_the_client",
        f"{HOST}::test_a_client_that_cannot_be_copied_still_cannot",
    ),
    "B1": (f"{FAILURES}::test_documented_tool_loops_hash_like_loops_written_with_dicts", CASES),
    "B2": (
        "decoders/test_sdk_loops_of_surfaces::test_a_response_that_is_sent_back_is_the_same_blocks",
        CASES,
    ),
    "B3": (
        f"{FAILURES}::test_documented_tool_loops_of_anthropic_hash_like_loops_written_with_dicts",
    ),
    "B4": (f"{KEPT}::test_an_answer_of_gemini_that_is_sent_back_is_there",),
    "B5": (GEMINI,),
    "B6": (SENT, f"{KEPT}::test_what_the_anthropic_sdk_sends_of_sentinels_is_recorded"),
    "B7": (SENT, WAYS),
    "B8": (SENT,),
    "B9": (f"{KEPT}::test_raw_bytes_for_bedrock_are_recorded_and_no_prose", GEMINI),
    "B10": ("faults/test_exits::test_nothing_is_lost_when_the_program_just_ends",),
    "B11": (f"{STREAMS}::test_what_the_host_changes_while_the_answer_comes_is_not_in_the_record",),
    "B12": (
        f"{STREAMS}::test_a_request_that_is_cancelled_before_its_answer_is_recorded",
        f"{STREAMS}::test_a_cancelled_stream_is_recorded_and_stays_cancelled",
        f"{STREAMS}::test_an_interrupt_from_the_keyboard_is_recorded_and_goes_on",
    ),
    "B13": (
        "faults/test_processes::test_a_forked_child_records_into_a_session_of_its_own",
        "faults/test_processes::test_children_of_multiprocessing_are_recorded",
    ),
    "B14": (
        "recorder/test_writer::test_what_comes_faster_than_it_is_stored_is_dropped_and_counted",
    ),
    "B15": (SENT,),
    "B16": (SENT,),
    "B17": ("store/test_writer::test_lone_surrogates_and_nul_cost_no_call",),
    "B18": (
        "recorder/test_tracer::test_labels_of_odd_kinds_are_kept_as_text",
        "recorder/test_redact::test_a_hook_that_gives_no_block_costs_the_text_and_not_the_call",
        f"{HOST}::test_a_project_of_an_odd_kind_costs_no_call",
    ),
    "C1": (WAYS, SURFACES),
    "C2": (WAYS, f"{FACTS}::test_the_beta_responses_are_recorded"),
    "C3": (WAYS,),
    "C4": (WAYS,),
    "C5": (WAYS, CASES),
    "C6": (WAYS,),
    "C7": (WAYS,),
    "C8": (
        "wire/test_surfaces::test_what_asks_no_model_for_an_answer_is_left_alone",
        f"{FAILURES}::test_requests_that_ask_no_model_pass_through_unrecorded",
    ),
    "C9": (
        SURFACES,
        "wire/test_other_taps::test_a_chat_of_a_wrapped_gemini_client_is_recorded_turn_by_turn",
    ),
    "C10": (SURFACES,),
    "C11": (f"{FACTS}::test_what_is_not_asked_by_a_request_is_not_recorded",),
    "C12": (f"{FACTS}::test_the_openai_module_itself_is_recorded_with_the_process",),
    "C13": ("wire/test_other_taps::test_another_service_of_aws_is_refused",),
    "C14": (SURFACES,),
    "C15": (
        "wire/test_frameworks::test_every_call_of_a_framework_is_recorded_once",
        "wire/test_process_wide::test_a_call_of_any_library_is_recorded_once",
    ),
    "D1": (WAYS, SURFACES),
    "D2": (WAYS, SURFACES, "decoders/test_usage::test_the_prompt_is_whole_whoever_counted_it"),
    "D3": ("hooks/test_langchain::test_usage_is_told_as_the_provider_would",),
    "D4": (WAYS, SURFACES),
    "D5": ("decoders/test_openai_responses::test_an_incomplete_answer_says_what_cut_it_off",),
    "D6": (
        f"{FAILURES}::test_an_http_error_inside_a_streamed_raw_response_is_an_error",
        WAYS,
    ),
    "D7": (
        f"{FAILURES}::test_an_http_error_is_recorded_by_the_name_that_the_host_sees",
        f"{FAILURES}::test_retries_are_attempts_of_one_call",
    ),
    "D8": (
        f"{FACTS}::test_calls_at_once_have_the_order_and_times_of_their_start",
        "recorder/test_tracer::test_times_come_from_one_clock",
    ),
    "D9": (f"{FACTS}::test_a_latency_ends_with_the_last_byte_and_not_with_the_hosts_thoughts",),
    "D10": (f"{STREAMS}::test_a_stream_keeps_the_labels_of_the_moment_when_it_was_asked_for",),
    "D11": (
        f"{SCOPE}::test_a_call_in_a_child_task_uses_the_tags_up_for_its_parent",
        f"{SCOPE}::test_one_of_two_calls_at_once_gets_the_tags",
    ),
    "D12": (
        f"{PARTS}::test_a_tag_matches_the_words_inside_a_part",
        f"{PARTS}::test_a_tag_does_not_match_what_only_looks_like_it_in_json",
        f"{SCOPE}::test_texts_are_found_in_whatever_is_tagged",
    ),
    "D13": (f"{SCOPE}::test_what_is_set_in_a_pool_ends_with_the_work_that_set_it",),
    "D14": (f"{PARTS}::test_cache_breakpoints_have_their_place_and_life_time",),
    "D15": (
        "decoders/test_calls::test_a_call_is_decoded_whole",
        "decoders/test_answers::test_a_refusal_is_kept_beside_its_empty_block",
    ),
    "D16": ("decoders/test_openai_responses::test_an_item_bears_the_role_of_who_made_it",),
    "D17": (
        "decoders/test_openai_responses::test_context_that_the_provider_holds_is_named",
        "decoders/test_held_elsewhere::test_what_the_provider_did_to_the_context_is_told",
    ),
    "D18": ("decoders/test_gemini::test_a_call_is_decoded_whole",),
    "D19": ("decoders/test_bedrock::test_cache_points_mark_the_block_before_them",),
    "D20": (
        f"{PARTS}::test_payloads_are_described_and_hashed_as_they_were_sent",
        f"{PARTS}::test_openai_files_and_sounds_are_payloads",
        f"{PARTS}::test_a_picture_in_a_tool_result_costs_what_a_picture_costs",
    ),
    "D21": ("tokens/test_images::test_an_image_costs_what_its_provider_formula_says",),
    "D22": (
        "tokens/test_counter::test_other_providers_are_estimated_by_code_points",
        "decoders/test_calls::test_equal_texts_count_alike_wherever_they_are_seen_again",
        "store/test_writer::test_the_first_writer_of_a_block_wins",
    ),
    "D23": ("wire/test_endpoints::test_the_host_tells_whose_call_it_was",),
    "D24": (
        "wire/test_langchain_as_sent::test_a_rebuilt_call_has_the_blocks_of_the_one_that_was_sent",
        "decoders/test_langchain_requests::test_a_request_of_langchain_is_known_by_what_was_sent",
    ),
    "D25": (
        "hooks/test_langchain::test_a_call_that_a_tap_sees_is_recorded_once_and_from_the_wire",
    ),
    "D26": (SURFACES, f"{CLIENT}::test_azure_is_recorded_by_its_deployment_path"),
    "D27": (f"{FACTS}::test_a_session_and_each_call_name_who_was_asked",),
    "D28": ("store/test_writer::test_losses_add_up_by_reason",),
    "D29": (
        "test_hashing::test_a_value_has_the_published_form_and_digest",
        "store/test_writer::test_json_columns_are_spelled_as_ctxdiff_spells_them",
    ),
    "D30": (f"{FACTS}::test_a_stream_that_an_error_of_the_host_ends_is_no_clean_call",),
    "E1": (
        "wire/test_no_credential_reaches_disk::test_no_credential_of_a_request_is_stored",
        "decoders/test_credentials::test_a_credential_of_the_body_is_in_no_field",
    ),
    "E2": (
        "recorder/test_redact_secrets::test_a_block_stored_in_clear_is_never_shown_for_a_redacted_one",
        "recorder/test_redact_secrets::test_no_stored_digest_is_found_by_trying_all_short_secrets",
    ),
    "E3": (
        "store/test_written_files::test_files_are_for_their_owner_only",
        "store/test_config::test_a_projects_name_cannot_lead_out_of_the_directory",
    ),
    "F": (
        "faults/test_exits::test_calls_are_stored_soon_after_they_return_with_no_help_of_the_program",
        "faults/test_exits::test_a_stream_that_a_kill_cuts_leaves_its_request",
        "faults/test_disks::test_a_disk_that_stays_full_costs_the_rest_which_is_counted",
        "faults/test_processes::test_two_programs_record_into_one_file",
        "store/test_written_files::test_another_programs_database_is_not_touched",
    ),
}

OPEN = frozenset(("C11", "C13", "D21", "D22", "D29"))
"""Rows where our answer is not the whole answer; `docs/peer.md` says so."""
