/** The sending service: an emulator with one project, whose callback URLs are the app's. */
import { CALLBACK_KINDS } from 'messaging-webhooks'
import { createEmulator, type Emulator, type FaultName } from 'messaging-webhooks/emulator'

export const PROJECT = 'My Shop'
export const API_KEY = 'api-key-of-the-example'
export const credentials = { authKey: 'auth-key-of-the-example', signingSecret: 'signing-secret-of-the-example' }

/** With a fault, each callback meets it. The seed makes every run the same. */
export function playService(appUrl: string, fault?: FaultName): Emulator {
  return createEmulator({
    seed: 'npm start',
    projects: [
      {
        name: PROJECT,
        apiKey: API_KEY,
        ...credentials,
        callbackUrls: Object.fromEntries(CALLBACK_KINDS.map((kind) => [kind, `${appUrl}/${kind}`])),
      },
    ],
    network: { delayMs: [50, 500], retryDelayMs: 200 },
    faults: fault === undefined ? {} : { [fault]: 1 },
  })
}
