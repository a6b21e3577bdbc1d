"""What networks take and give: findings, limits, labelled answers."""
