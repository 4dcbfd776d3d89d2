/** What users of the emulator hold in their hands. Types only. */
import type { EmulatorApp } from './http.ts'
import type { CallbackKind } from '../public/events.ts'
import type { Delivery, KeyPair } from './outgoing.ts'
import type { EmulatorReport, OtpEntry, SendRecord } from './journal.ts'
import type { Channel } from './not-shown.ts'
import type { ProjectPatch } from './options.ts'
import type { TriggerName } from './payloads.ts'
import type { ProjectKeys, ProjectState } from './projects.ts'

/** Something that happened, as it happens. No key and no body is in it but a callback's payload. */
export type Activity =
  { readonly type: 'send'; readonly send: SendRecord } | { readonly type: 'delivery'; readonly delivery: Delivery }

/** For a call about one project. */
export interface OfProject {
  /** Default: the first project. */
  readonly project?: string | undefined
}

/** The sending service, played locally. */
export interface Emulator {
  /** The send endpoint, to be mounted; hands other paths to `next`, or answers 404 where there is none. */
  readonly app: EmulatorApp
  /** The control API, to be mounted; see `CONTROL_ROUTES`. `listen` serves both. */
  readonly controlApp: EmulatorApp
  /**
   * Serves both, on 127.0.0.1 unless you name a host; 0 picks a port. Throws a `MessagingWebhooksError`:
   * `emulator_listening` where it already does, `emulator_closed`, and `emulator_port` where the port cannot be had.
   */
  listen(port?: number, host?: string): Promise<{ readonly url: string; readonly port: number }>
  /** Stops at once: what is under way is cut, what waits is dropped. */
  close(): Promise<void>
  /**
   * True once every message has come to its end and every callback was answered, scheduled ones too; false if
   * `deadlineMs` (10,000) passes before.
   */
  idle(options?: { readonly deadlineMs?: number | undefined }): Promise<boolean>
  /** What was sent, answered and refused since the start. */
  report(): EmulatorReport
  /** The answered sends, oldest first. */
  sends(): readonly SendRecord[]
  /** The callbacks that were made or left out, in the order in which they ended. */
  deliveries(): readonly Delivery[]
  /** Every `transactional` send and what became of it, oldest first. Contract, service.md#what-the-service-does. */
  otpLog(): readonly OtpEntry[]
  /** What the channels are called: all names of each. */
  channels(): Readonly<Record<Channel, readonly string[]>>
  /** What the projects are now, without their keys. */
  projects(): readonly ProjectState[]
  /** The live keys of a project. Throws `emulator_project_unknown`, as every call with a project does. */
  keys(of?: OfProject): ProjectKeys
  /** Changes what a project is; effective at once. Throws an `OptionsError` for what cannot work. */
  configure(patch: ProjectPatch, of?: OfProject): ProjectState
  /**
   * A new Auth Key and signing secret, or those that you name; the next callback uses them. Throws an `OptionsError` for
   * an empty one. Contract, service.md#callback-authenticity, 4.
   */
  rotateKeys(pair?: Partial<Record<keyof KeyPair, string | undefined>>, of?: OfProject): ProjectKeys
  /** A new API key; the old one is dead at once. Contract, service.md#authentication, 4. */
  regenerateApiKey(apiKey?: string, of?: OfProject): ProjectKeys
  /** Makes a callback that no send leads to; `fields` replace and add to those of `TRIGGERS`. */
  trigger(name: TriggerName, fields?: Readonly<Record<string, unknown>>, of?: OfProject): Promise<readonly Delivery[]>
  /** Makes a callback of your own, with the project's keys and signature. */
  callback(kind: CallbackKind, payload: Readonly<Record<string, unknown>>, of?: OfProject): Promise<readonly Delivery[]>
  /** Hears of everything as it happens. Returns the function that takes the listener off again. */
  onActivity(listener: (activity: Activity) => void): () => void
}
