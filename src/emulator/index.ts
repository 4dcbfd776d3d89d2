/**
 * The sending service, to run locally.
 *
 * @module messaging-webhooks/emulator
 */
export { createEmulator } from './create.ts'
export type { Activity, Emulator, EmulatorApp, EmulatorOptions, OfProject } from './surface.ts'
export type { CallbackProof } from './callback-proof.ts'
export type { ChannelNames } from './channel-names.ts'
export type { Delivery } from './callbacks/outgoing.ts'
export { CONTROL_ROUTES, type Controlled, type ControlRoute } from './control/routes.ts'
export type { Seed } from './faults/draws.ts'
export { FAULTS, FAULT_NAMES, type FaultName } from './faults/faults.ts'
export type { FaultRates } from './faults/rates.ts'
export { SEND_FAULTS, SEND_FAULT_NAMES, type SendFaultName, type SendFaultRates } from './faults/send-faults.ts'
export type { EmulatorReport, FaultCounts, RecipientEntry, SendRecord } from './journal.ts'
export { DEFAULT_NETWORK, type NetworkProfile } from './network.ts'
export { CHANNELS, NOT_SHOWN, type Channel } from './not-shown.ts'
export type { OtpEntry } from './otp-log.ts'
export { OUTCOMES, type AnswerCode, type Outcome } from './outcomes.ts'
export type { CallbackUrls, KeyPair, ProjectKeys, ProjectOptions, ProjectPatch, ProjectState } from './projects.ts'
export { TRIGGERS, TRIGGER_NAMES, type TriggerName } from './triggers.ts'
