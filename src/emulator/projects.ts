/** Projects, their keys, and what they have spent. Contract, service.md#project, #webhook-security-pair. */
import type { CallbackKind } from '../events.ts'
import { MessagingWebhooksError } from '../errors.ts'
import type { Seed } from './faults/draws.ts'
import { PROJECT_DEFAULTS } from './not-shown.ts'
import { drawKey } from './random.ts'

/** A callback URL for each kind; a kind without one gets no callbacks. */
export type CallbackUrls = Readonly<Partial<Record<CallbackKind, string | undefined>>>

/** What can be changed of a project while it runs. */
export interface ProjectPatch {
  /** Credits, of which each message part takes one. Default 1,000,000. */
  readonly balance?: number | undefined
  /** Message parts a day, by UTC; null for none. Default: none. */
  readonly volumeLimit?: number | null | undefined
  /** The sender of messages without a `from`. Default `EMULATOR`. */
  readonly senderId?: string | undefined
  /** The chat-app number that it sends from. Default 999300009999. */
  readonly phoneNumber?: string | undefined
  /** What customers write to. Default 22384. */
  readonly shortcode?: string | undefined
  /** Posts callbacks to https URLs only. Default false. */
  readonly enforceHttps?: boolean | undefined
  /** Where its callbacks are posted: `status`, `received`, `payment`, `subscription`. A change replaces them all. */
  readonly callbackUrls?: CallbackUrls | undefined
}

/** The webhook security pair. */
export interface KeyPair {
  readonly authKey: string
  readonly signingSecret: string
}

/** All keys of a project. */
export interface ProjectKeys extends KeyPair {
  readonly apiKey: string
}

/** What a project is at the start. Keys that are left out are made from the seed. */
export interface ProjectOptions extends ProjectPatch {
  /** The display name, compared exactly. */
  readonly name: string
  /** What a send carries. */
  readonly apiKey?: string | undefined
  /** What the body of each callback carries. */
  readonly authKey?: string | undefined
  /** What the signature of each callback is made with. */
  readonly signingSecret?: string | undefined
}

/** What a project is now, without its keys. */
export interface ProjectState {
  readonly name: string
  readonly balance: number
  readonly volumeLimit: number | null
  /** Message parts that were accepted today, by UTC. */
  readonly sentToday: number
  readonly senderId: string
  readonly phoneNumber: string
  readonly shortcode: string
  readonly enforceHttps: boolean
  readonly callbackUrls: CallbackUrls
}

/** Why a project cannot pay for another message. */
type Shortage = 'insufficient_balance' | 'volume_limit'

export interface Project {
  readonly state: () => ProjectState
  readonly keys: () => ProjectKeys
  /** The pair before the last rotation. */
  readonly previousPair: () => KeyPair | undefined
  configure(patch: ProjectPatch): ProjectState
  rotate(pair: Partial<Record<keyof KeyPair, string | undefined>>): ProjectKeys
  regenerate(apiKey: string | undefined): ProjectKeys
  /** Takes the credits and counts the parts, or says what is short and takes nothing. */
  spend(cost: number, parts: number): Shortage | undefined
}

export interface Projects {
  /** Throws `emulator_project_unknown`. */
  get(name: string | undefined): Project
  find(name: string): Project | undefined
  all(): readonly Project[]
}

const DAY_MS = 86_400_000

export function createProjects(
  options: readonly ProjectOptions[],
  { seed, nowMs }: { readonly seed: Seed; readonly nowMs: () => number },
): Projects {
  const projects = new Map(options.map((project) => [project.name, createProject(project, seed, nowMs)]))
  return {
    get(name) {
      const project = name === undefined ? [...projects.values()][0] : projects.get(name)
      if (project !== undefined) return project
      throw new MessagingWebhooksError(
        'emulator_project_unknown',
        `It has ${[...projects.keys()].map((known) => JSON.stringify(known)).join(', ')}.`,
      )
    },
    find: (name) => projects.get(name),
    all: () => [...projects.values()],
  }
}

function createProject(
  { name, apiKey, authKey, signingSecret, ...options }: ProjectOptions,
  seed: Seed,
  nowMs: () => number,
): Project {
  let keys: ProjectKeys = {
    apiKey: apiKey ?? drawKey(seed, 'apiKey', name),
    authKey: authKey ?? drawKey(seed, 'authKey', name),
    signingSecret: signingSecret ?? drawKey(seed, 'signingSecret', name),
  }
  let previous: KeyPair | undefined
  let rotations = 0
  let regenerations = 0
  let day = 0
  let sent = 0
  let settings: Omit<ProjectState, 'name' | 'sentToday'> = {
    balance: options.balance ?? PROJECT_DEFAULTS.balance,
    volumeLimit: options.volumeLimit ?? null,
    senderId: options.senderId ?? PROJECT_DEFAULTS.senderId,
    phoneNumber: options.phoneNumber ?? PROJECT_DEFAULTS.phoneNumber,
    shortcode: options.shortcode ?? PROJECT_DEFAULTS.shortcode,
    enforceHttps: options.enforceHttps ?? false,
    callbackUrls: options.callbackUrls ?? {},
  }

  function sentToday(): number {
    const today = Math.floor(nowMs() / DAY_MS)
    if (today !== day) sent = 0
    day = today
    return sent
  }

  const state = (): ProjectState => ({ name, ...settings, sentToday: sentToday() })

  return {
    state,
    keys: () => keys,
    previousPair: () => previous,
    configure(patch) {
      settings = {
        balance: patch.balance ?? settings.balance,
        volumeLimit: patch.volumeLimit === undefined ? settings.volumeLimit : patch.volumeLimit,
        senderId: patch.senderId ?? settings.senderId,
        phoneNumber: patch.phoneNumber ?? settings.phoneNumber,
        shortcode: patch.shortcode ?? settings.shortcode,
        enforceHttps: patch.enforceHttps ?? settings.enforceHttps,
        callbackUrls: patch.callbackUrls ?? settings.callbackUrls,
      }
      return state()
    },
    rotate(pair) {
      rotations += 1
      previous = { authKey: keys.authKey, signingSecret: keys.signingSecret }
      keys = {
        ...keys,
        authKey: pair.authKey ?? drawKey(seed, 'authKey', name, rotations),
        signingSecret: pair.signingSecret ?? drawKey(seed, 'signingSecret', name, rotations),
      }
      return keys
    },
    regenerate(given) {
      regenerations += 1
      keys = { ...keys, apiKey: given ?? drawKey(seed, 'apiKey', name, regenerations) }
      return keys
    },
    spend(cost, parts) {
      if (settings.balance < cost) return 'insufficient_balance'
      if (settings.volumeLimit !== null && sentToday() + parts > settings.volumeLimit) return 'volume_limit'
      settings = { ...settings, balance: settings.balance - cost }
      sent = sentToday() + parts
      return undefined
    },
  }
}
