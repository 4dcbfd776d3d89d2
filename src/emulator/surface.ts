/** Public types of the emulator. */
import type { EmulatorApp } from './http.ts'
import type { CallbackKind } from '../public/events.ts'
import type { Delivery, KeyPair } from './request.ts'
import type { EmulatorReport, OtpEntry, SendRecord } from './journal.ts'
import type { Channel } from './not-shown.ts'
import type { ProjectPatch } from './options.ts'
import type { TriggerName } from './payloads.ts'
import type { ProjectKeys, ProjectState } from './projects.ts'

/** An activity, reported as it happens. Contains no key, and no body except a callback's payload. */
export type Activity =
  | { readonly type: 'send'; readonly send: SendRecord }
  | { readonly type: 'delivery'; readonly delivery: Delivery }
  /** A new entry of the OTP log, or one with a new state. */
  | { readonly type: 'otp'; readonly entry: OtpEntry }

/** Options of a call about one project. */
export interface OfProject {
  /** Default: the first project. */
  readonly project?: string | undefined
}

/** An emulator of the service. */
export interface Emulator {
  /** The send endpoint as middleware. Passes other paths to `next`, or answers 404 without one. */
  readonly app: EmulatorApp
  /**
   * Serves `app`, the control API (`CONTROL_ROUTES`) and `/openapi.json`, by default on 127.0.0.1. Port 0 picks a free port.
   * Throws a `MessagingWebhooksError`: `emulator_listening` if it already listens, `emulator_closed`, or `emulator_port` if the
   * port is unavailable.
   */
  listen(port?: number, host?: string): Promise<{ readonly url: string; readonly port: number }>
  /** Stops at once: aborts pending requests and drops scheduled ones. */
  close(): Promise<void>
  /**
   * True once every message has ended and every callback is answered, false after `deadlineMs` (10,000). Scheduled messages
   * count.
   */
  idle(options?: { readonly deadlineMs?: number | undefined }): Promise<boolean>
  /** Counts of sends, answers and refusals since the start. */
  report(): EmulatorReport
  /** The answered sends, oldest first. */
  sends(): readonly SendRecord[]
  /** The callbacks, posted or dropped, in order of completion. */
  deliveries(): readonly Delivery[]
  /** The log of OTP sends, each with its latest state. OTP sends have `type: 'transactional'`. Oldest first. */
  otpLog(): readonly OtpEntry[]
  /** The name of each channel. */
  channels(): Readonly<Record<Channel, string>>
  /** The state of the projects, without keys. Credentials in their callback URLs are left out, too. */
  projects(): readonly ProjectState[]
  /** The live keys of a project. Throws `emulator_project_unknown`, as every call with a project does. */
  keys(of?: OfProject): ProjectKeys
  /** Changes a project at once. Returns its state, as `projects` does. Throws an `OptionsError` for an invalid value. */
  configure(patch: ProjectPatch, of?: OfProject): ProjectState
  /**
   * Sets a new Auth Key and signing secret, given or random. The next callback uses them. Throws an `OptionsError` if one is
   * empty. Contract, service.md#callback-authenticity, 4.
   */
  rotateKeys(pair?: Partial<Record<keyof KeyPair, string | undefined>>, of?: OfProject): ProjectKeys
  /** Sets a new API key. The old one is invalid at once. Contract, service.md#authentication, 4. */
  regenerateApiKey(apiKey?: string, of?: OfProject): ProjectKeys
  /** Posts a callback that does not result from a send. `fields` are merged over those of `TRIGGERS`. */
  trigger(name: TriggerName, fields?: Readonly<Record<string, unknown>>, of?: OfProject): Promise<readonly Delivery[]>
  /** Posts a custom callback with the project's keys and signature. */
  callback(kind: CallbackKind, payload: Readonly<Record<string, unknown>>, of?: OfProject): Promise<readonly Delivery[]>
  /** Calls the listener for each activity. Returns a function that removes it. */
  onActivity(listener: (activity: Activity) => void): () => void
}
