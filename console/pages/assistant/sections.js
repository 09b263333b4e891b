// How the members of an assistant are grouped, and which apply to which mode. A member that is in no group stands in the
// last: what the service adds shows up by itself.

import { text } from "../../text.js";

const t = text.assistants.sections;

/** @type {[string, string[]][]} */
const GROUPS = [
  [
    t.identity,
    [
      "name",
      "type",
      "mode",
      "status",
      "timezone",
      "folder_id",
      "label_ids",
      "initial_message",
      "system_prompt",
      "variables",
    ],
  ],
  [
    t.voice,
    [
      "language_id",
      "secondary_language_ids",
      "voice_id",
      "synthesizer_provider_id",
      "transcriber_provider_id",
      "voice_stability",
      "voice_similarity",
      "speech_speed",
      "tts_emotion_enabled",
      "ambient_sound",
      "ambient_sound_volume",
      "enable_noise_cancellation",
    ],
  ],
  [t.model, ["llm_model_id", "multimodal_model_id", "chat_llm_fallback_id", "llm_temperature"]],
  [
    t.turns,
    [
      "allow_interruptions",
      "min_interrupt_words",
      "interrupt_sensitivity",
      "endpoint_type",
      "endpoint_sensitivity",
      "turn_detection_threshold",
      "wait_for_customer",
      "fillers",
      "filler_config",
    ],
  ],
  [t.tools, ["tool_ids", "tools"]],
  [t.knowledge, ["knowledgebase_id", "knowledgebase_mode"]],
  [
    t.calls,
    [
      "phone_number_id",
      "record",
      "ringing_time",
      "max_duration",
      "max_silence_duration",
      "max_initial_silence_duration",
      "reengagement_interval",
      "reengagement_prompt",
      "end_call_on_voicemail",
      "voice_mail_message",
    ],
  ],
  [t.after, ["post_call_evaluation", "post_call_schema"]],
  [
    t.webhooks,
    [
      "is_webhook_active",
      "webhook_url",
      "send_webhook_only_on_completed",
      "include_recording_in_webhook",
      "inbound_webhook_events",
      "conversation_ended_webhook_url",
      "conversation_inactivity_timeout",
      "conversation_ended_retrigger",
    ],
  ],
  [t.widget, ["widget_settings"]],
];

/** Members that the service drops in any other mode. @type {Record<string, string[]>} */
const MODES = {
  llm_model_id: ["pipeline"],
  transcriber_provider_id: ["pipeline"],
  fillers: ["pipeline"],
  filler_config: ["pipeline"],
  multimodal_model_id: ["multimodal", "dualplex"],
  chat_llm_fallback_id: ["multimodal", "dualplex"],
  turn_detection_threshold: ["multimodal", "dualplex"],
};

/** Whether a member applies to a mode. @param {string} name @param {string} mode */
export const applies = (name, mode) => !MODES[name] || !mode || MODES[name].includes(mode);

/** @param {string} mode @returns {import("../../ui/form.js").Section[]} */
export function sections(mode) {
  const groups = GROUPS.map(([title, names]) => ({
    title,
    names,
    has: (/** @type {string} */ name) => names.includes(name),
    words: title === t.model ? text.assistants.rule[/** @type {"pipeline"} */ (mode)] : undefined,
  }));
  return [...groups, { title: t.more, has: () => true }];
}

/** Members of a section in the order of its list. @param {string} name */
export function place(name) {
  const all = GROUPS.flatMap(([, names]) => names);
  const at = all.indexOf(name);
  return at < 0 ? all.length : at;
}
