/**
 * The sending service, to run locally.
 *
 * @module messaging-webhooks/emulator
 */
export { createEmulator } from './create.ts'
export type { Activity, CallbackProof, Emulator, EmulatorApp, EmulatorOptions, OfProject } from './surface.ts'
export type { Delivery } from './callbacks/outgoing.ts'
export type { ChannelNames } from './channels.ts'
export { CONTROL_ROUTES, type Controlled, type ControlRoute } from './control.ts'
export { FAULTS, FAULT_NAMES, type FaultName, type FaultRates } from './faults.ts'
export { SEND_FAULTS, SEND_FAULT_NAMES, type SendFaultName, type SendFaultRates } from './faults.ts'
export type { EmulatorReport, FaultCounts, OtpEntry, RecipientEntry, SendRecord } from './journal.ts'
export { CHANNELS, NOT_SHOWN, type Channel } from './not-shown.ts'
export { DEFAULT_NETWORK, OUTCOMES, type AnswerCode, type NetworkProfile, type Outcome } from './outcomes.ts'
export { TRIGGERS, TRIGGER_NAMES, type TriggerName } from './payloads.ts'
export type { CallbackUrls, KeyPair, ProjectKeys, ProjectOptions, ProjectPatch, ProjectState } from './projects.ts'
export type { Seed } from './random.ts'
