/** Where callbacks may be sent to: this machine, unless somebody says otherwise. */
import { webUrl } from '../emulator/callbacks/web-url.ts'
import { CliError } from './exit-codes.ts'

/** Checks a URL that is posted to. Throws a `CliError` for one that is no http or https URL, or not of this machine. */
export function checkTarget(url: string, allowRemote: boolean, called = '--to'): void {
  const target = webUrl(url)
  if (target === undefined)
    throw new CliError(
      'usage',
      `${called} is no http or https URL.`,
      'Expected such as http://localhost:3000/webhooks/status',
    )
  if (!allowRemote && !isLoopback(target.hostname))
    throw new CliError(
      'usage',
      `${target.hostname} is not this machine, and each callback carries the Auth Key.`,
      'Add --allow-remote if it is a server of yours.',
    )
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(\.\d+){3}$/.test(hostname)
  )
}
