select month, day, count(*) as flights,
       sum(case when dep_delay >= 60 then 1 else 0 end) as hour_late,
       sum(case when dep_time is null then 1 else 0 end) as cancelled
from flights group by month, day order by hour_late desc, month, day limit 6
