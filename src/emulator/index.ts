/**
 * An emulator of the service for local use.
 *
 * @module messaging-webhooks/emulator
 */
export { createEmulator } from './create.ts'
export type { EmulatorApp } from './http.ts'
export type { Activity, Emulator, OfProject } from './surface.ts'
export { DEFAULT_NETWORK, type CallbackUrls, type EmulatorOptions, type NetworkProfile } from './options.ts'
export type { ProjectOptions, ProjectPatch } from './options.ts'
export type { Delivery, KeyPair } from './request.ts'
export type { ChannelNames } from './channels.ts'
export { CONTROL_ROUTES, type Controlled, type ControlRoute } from './control.ts'
export { FAULTS, FAULT_NAMES, type FaultName, type FaultRates } from './faults.ts'
export { SEND_FAULTS, SEND_FAULT_NAMES, type SendFaultName, type SendFaultRates } from './faults.ts'
export type { EmulatorReport, FaultCounts, RecipientEntry, SendRecord } from './journal.ts'
export { CHANNELS, NOT_SHOWN, type Channel } from './not-shown.ts'
export { OUTCOMES, type AnswerCode, type Outcome } from './outcomes.ts'
export { TRIGGERS, TRIGGER_NAMES, type TriggerName } from './payloads.ts'
export type { ProjectKeys, ProjectState } from './projects.ts'
export type { Seed } from './random.ts'
