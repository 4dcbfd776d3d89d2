/** What the transaction commits is on the disk before its answer, whatever the role's default; nothing stricter is eased. */
export const DURABLY = /* sql */ `
SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off';
`
